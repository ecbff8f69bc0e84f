//! Finds DPDK by pkg-config, generates the bindings and compiles the shim.

use std::env;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

const CURE: &str = "on Debian and Ubuntu: apt-get install libdpdk-dev libclang-dev pkg-config";

/// Everything that `dpdk` uses; nothing else is bound.
const FUNCTIONS: &[&str] = &[
    "shim_.*",
    "rte_eal_(init|remote_launch|wait_lcore)",
    "rte_(openlog_stream|strerror|dev_probe|lcore_to_cpu_id)",
    "rte_pktmbuf_(pool_create|free_bulk)",
    "rte_mempool_(avail_count|free)",
    "rte_mbuf_dyn_rx_timestamp_register",
    "rte_eth_dev_(get_port_by_name|info_get|configure|start|stop|close|set_mtu|socket_id|adjust_nb_rx_tx_desc)",
    "rte_eth_(rx|tx)_queue_setup",
    "rte_eth_(macaddr_get|promiscuous_enable|allmulticast_enable|stats_get)",
];
const TYPES: &[&str] = &["shim_mbuf", "shim_lacp"];
const VARIABLES: &[&str] = &["shim_.*", "RTE_PKTMBUF_HEADROOM", "RTE_MAX_LCORE", "SOCKET_ID_ANY"];

fn main() {
    println!("cargo:rerun-if-changed=shim.h");
    println!("cargo:rerun-if-changed=shim.c");
    default_libclang();
    let includes = find_dpdk();
    compile_shim(&includes);
    generate(&includes);
}

/// Debian keeps libclang where clang-sys may not look; a path that the user set wins.
fn default_libclang() {
    const DEBIAN: &str = "/usr/lib/llvm-14/lib";
    println!("cargo:rerun-if-env-changed=LIBCLANG_PATH");
    if env::var_os("LIBCLANG_PATH").is_none() && Path::new(DEBIAN).exists() {
        // SAFETY: a build script has one thread, and this is before it could start another.
        unsafe { env::set_var("LIBCLANG_PATH", DEBIAN) };
    }
}

/// Emits the link flags: the core libraries, and of the drivers only the bond. The others are
/// plugins that the EAL loads at run time from the directory that is compiled into it.
fn find_dpdk() -> Vec<PathBuf> {
    match pkg_config::Config::new().atleast_version("22.11").probe("libdpdk") {
        Ok(library) => {
            // A plugin too, and the only one with functions of its own for its user.
            println!("cargo:rustc-link-lib=rte_net_bond");
            library.include_paths
        }
        Err(error) => fail(&format!("{error}\nDPDK 22.11 or newer is needed; {CURE}")),
    }
}

fn compile_shim(includes: &[PathBuf]) {
    // DPDK's x86 headers need SSE4.2, which libdpdk.pc asks for as -march=corei7.
    let march = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let mut build = cc::Build::new();
    build.file("shim.c").includes(includes).flag("-include").flag("rte_config.h").opt_level(3);
    build.flag_if_supported("-Wno-deprecated-declarations");
    if march {
        build.flag("-march=corei7");
    }
    build.compile("dpdk_shim");
}

fn generate(includes: &[PathBuf]) {
    let mut builder = bindgen::builder()
        .header("shim.h")
        .clang_args(includes.iter().map(|path| format!("-I{}", path.display())))
        .clang_args(["-include", "rte_config.h", "-march=corei7"])
        .opaque_type("rte_mbuf|rte_mempool|rte_device|rte_memzone|_IO_FILE")
        .use_core()
        .prepend_enum_name(false)
        .derive_default(false)
        .layout_tests(false)
        .generate_comments(false);
    builder = FUNCTIONS.iter().fold(builder, |b, name| b.allowlist_function(name));
    builder = TYPES.iter().fold(builder, |b, name| b.allowlist_type(name));
    builder = VARIABLES.iter().fold(builder, |b, name| b.allowlist_var(name));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("bindings.rs");
    // bindgen panics where it finds no libclang: the cure belongs into that message, too.
    match std::panic::catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(Ok(bindings)) => bindings.write_to_file(out).expect("OUT_DIR is writable"),
        Ok(Err(error)) => fail(&format!("no bindings for DPDK's headers: {error}")),
        Err(_) => fail(&format!("bindgen did not run; is libclang there? ({CURE})")),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("\ndpdk-sys: {message}\n");
    std::process::exit(1);
}
