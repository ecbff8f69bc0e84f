//! Compiles what our parts are compared with: DPDK's hash table and a plain Maglev.

fn main() {
    println!("cargo:rerun-if-changed=shim");
    let dpdk = pkg_config::Config::new().atleast_version("22.11").probe("libdpdk");
    let includes = dpdk.map(|library| library.include_paths).unwrap_or_else(|error| {
        eprintln!("\nbench: {error}\nDPDK 22.11 or newer is needed: apt-get install libdpdk-dev\n");
        std::process::exit(1);
    });
    let mut build = cc::Build::new();
    build.files(["shim/rte_hash.c", "shim/maglev.c"]).includes(includes).opt_level(3);
    build.flag("-include").flag("rte_config.h");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
        build.flag("-march=corei7");
    }
    build.compile("bench_shim");
}
