//! A backend: nginx, which answers with the backend's name and takes uploads, behind the
//! decapsulator.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::address::backend_name;
use crate::cleanup::Directory;
use crate::error::{Context, Result};
use crate::netns::Namespace;
use crate::process::{Process, binary};

/// The weights that it can give itself.
const WEIGHTS: [u16; 3] = [0, 1, 4];

/// Its certificate, for web.example, and the key; and who vouches for it.
const CERTIFICATE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../control/tests/probes/vouched.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../control/tests/probes/key.pem");
/// A file of certificates that vouch for what a backend shows at port 443.
pub const AUTHORITY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../control/tests/probes/authority.pem");

/// A running backend.
#[derive(Debug)]
pub struct Backend {
    /// What it answers to `GET /`.
    pub name: String,
    nginx: Process,
    _decap: Process,
    files: Directory,
    /// Where it runs; last, so that its programs end first.
    pub namespace: Namespace,
}

impl Backend {
    /// Starts both programs in a namespace that has its addresses.
    pub fn start(namespace: Namespace, index: usize) -> Result<Self> {
        let name = backend_name(index);
        let files = Directory::new()?;
        std::fs::create_dir(files.path().join("www")).context("making www")?;
        let directory = files.path().display().to_string();
        let file = files.path().join("nginx.conf");
        std::fs::write(&file, configuration(&name, &directory)).context("writing nginx.conf")?;

        let decap = namespace.command(&format!("{} decap0", binary("decap")?.display()));
        let mut decap = Process::start(&format!("{name}'s decap"), &decap)?;
        decap.wait_for("its sockets", 5, |p| p.stdout().contains("ready"))?;
        let nginx = web_server(&name, &namespace, &files)?;
        Ok(Self { name, nginx, _decap: decap, files, namespace })
    }

    /// Its folder, which goes with it.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    /// Ends its web server as a crash does: nobody is told.
    pub fn crash(&self) -> Result<()> {
        self.nginx.signal(Signal::KILL)
    }

    /// Starts its web server again.
    pub fn revive(&mut self) -> Result<()> {
        self.nginx = web_server(&self.name, &self.namespace, &self.files)?;
        Ok(())
    }

    /// What `GET /healthz` says from now on: 200, or 503.
    pub fn set_healthy(&self, healthy: bool) -> Result<()> {
        self.mark("down", !healthy)
    }

    /// The weight that comes with it: 0, 1 or 4; `None`: no weight.
    pub fn set_weight(&self, weight: Option<u16>) -> Result<()> {
        WEIGHTS.iter().try_for_each(|w| self.mark(&format!("weight-{w}"), weight == Some(*w)))
    }

    /// A file that the web server looks for in each request.
    fn mark(&self, name: &str, there: bool) -> Result<()> {
        let path = self.files.path().join(name);
        match there {
            true => std::fs::write(&path, "").context(format!("making {}", path.display())),
            false if path.exists() => {
                std::fs::remove_file(&path).context(format!("removing {}", path.display()))
            }
            false => Ok(()),
        }
    }

    /// What was uploaded to it as `/upload/<name>`.
    pub fn upload(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.upload_path(name);
        std::fs::read(&path).context(format!("reading {}", path.display()))
    }

    /// Whether `/upload/<name>` was uploaded to it.
    pub fn has_upload(&self, name: &str) -> bool {
        self.upload_path(name).exists()
    }

    fn upload_path(&self, name: &str) -> PathBuf {
        self.files.path().join("www/upload").join(name)
    }

    /// How many TCP connections have asked it something.
    pub fn connections(&self) -> Result<usize> {
        let path = self.files.path().join("access.log");
        let log = std::fs::read_to_string(&path).context("reading access.log")?;
        Ok(log.lines().filter_map(|l| l.split(' ').next()).collect::<BTreeSet<_>>().len())
    }

    /// What its web server complained about.
    pub fn complaints(&self) -> String {
        let path = self.files.path().join("error.log");
        format!("{}{}", std::fs::read_to_string(path).unwrap_or_default(), self.nginx.stderr())
    }
}

fn web_server(name: &str, namespace: &Namespace, files: &Directory) -> Result<Process> {
    let directory = files.path().display();
    let pid = files.path().join("nginx.pid");
    // One that crashed has left its own.
    let _ = std::fs::remove_file(&pid);
    let nginx = namespace.command(&format!(
        "nginx -p {directory} -e {directory}/error.log -c {directory}/nginx.conf"
    ));
    let mut nginx = Process::start(&format!("{name}'s nginx"), &nginx)?;
    nginx
        .wait_for("its port", 5, |_| std::fs::read_to_string(&pid).is_ok_and(|p| !p.is_empty()))?;
    Ok(nginx)
}

/// One process, nothing outside its directory, connections that stay open.
fn configuration(name: &str, directory: &str) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path {directory}/{kind};\n"))
        .collect();
    let weights: String = WEIGHTS
        .iter()
        .map(|w| format!("            if (-f {directory}/weight-{w}) {{ set $weight {w}; }}\n"))
        .collect();
    format!(
        "daemon off;
master_process off;
user root;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
    log_format connections '$connection $remote_addr $request';
    access_log {directory}/access.log connections;
{temporary}    client_max_body_size 64m;
    keepalive_timeout 300s;
    keepalive_requests 100000;
    server {{
        listen 80;
        listen [::]:80;
        listen 443 ssl;
        listen [::]:443 ssl;
        ssl_certificate {CERTIFICATE};
        ssl_certificate_key {KEY};
        root {directory}/www;
        default_type text/plain;
        location = /healthz {{
            set $weight \"\";
{weights}            add_header X-Load-Balancing-Endpoint-Weight $weight always;
            if (-f {directory}/down) {{ return 503; }}
            return 200 \"ok\n\";
        }}
        location = / {{ return 200 \"{name}\\n\"; }}
        location /upload/ {{ dav_methods PUT; create_full_put_path on; }}
    }}
}}
"
    )
}
