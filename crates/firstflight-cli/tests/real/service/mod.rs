//! A service in a control group of its own behind an emulated link, and its clients. Needs root and
//! control groups of version 2; says what is missing where that is not given.

use firstflight_linux::{LinkEmulator, LinkOptions};
use firstflight_path::Path;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) use super::ONE;

/// A control group that is removed again.
pub(crate) struct Group(pub PathBuf);

impl Group {
    pub(crate) fn make() -> Option<Group> {
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let root = mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [_, folder, "cgroup2", ..] => Some(PathBuf::from(folder)),
            _ => None,
        });
        let folder = root.map(|root| root.join(format!("firstflight-{}", std::process::id())));
        let group = folder.filter(|folder| fs::create_dir(folder).is_ok()).map(Group);
        if group.is_none() {
            println!("skipped: needs a control group of version 2, and root");
        }
        group
    }

    pub(crate) fn folder(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was just killed may still be listed.
        let patience = Instant::now() + Duration::from_secs(2);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < patience {
            sleep(Duration::from_millis(20));
        }
    }
}

/// `python3 -m http.server` in a group, behind a link: it closes every connection at once.
pub(crate) struct Service {
    link: LinkEmulator,
    child: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
    v6: Option<(Child, SocketAddr)>,
}

/// Of documentation (RFC 3849), with digits that stand nowhere else.
const V6: &str = "2001:db8:1f40:99b0:c1a2:e3f4:5061:7283";

impl Service {
    pub(crate) fn start(group: &Group, path: &str, size: usize) -> Option<Service> {
        let path = Path::parse(path).expect("a path");
        let link = match LinkEmulator::start(&path, LinkOptions::default()) {
            Ok(link) => link,
            Err(refusal) => {
                println!("skipped: {refusal}");
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("object"), vec![b'x'; size]).expect("an object");
        let address = SocketAddr::from((link.sender().address(), 8080));
        // Its listener has to be born in the group.
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec python3 -m http.server 8080 --bind {} --directory {}",
            group.folder(),
            address.ip(),
            folder.path().display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = link.sender().enter(&mut command).spawn().expect("a shell");
        let service = Service { link, child, folder, address, v6: None };
        service.wait_for(address);
        Some(service)
    }

    fn wait_for(&self, address: SocketAddr) {
        let patience = Instant::now() + Duration::from_secs(20);
        let connect = || TcpStream::connect(address);
        while self.link.sender().run(connect).expect("the namespace").is_err() {
            assert!(Instant::now() < patience, "the web server does not listen");
            sleep(Duration::from_millis(50));
        }
    }

    /// The same at an IPv6 address on the loopback of the server's namespace, where its clients have
    /// it, too; whether there is one.
    pub(crate) fn also_v6(&mut self, group: &Group) -> bool {
        let enabled = self.link.sender().set_sysctl("net/ipv6/conf/lo/disable_ipv6", "0").is_ok();
        let mut add = Command::new("ip");
        add.args(["-6", "addr", "add", &format!("{V6}/128"), "dev", "lo", "nodad"]);
        let added = self.link.sender().enter(&mut add).status();
        if !enabled || !added.is_ok_and(|status| status.success()) {
            return false;
        }
        let address = SocketAddr::new(V6.parse().expect("an address"), 8081);
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec python3 -m http.server 8081 --bind {V6} --directory {}",
            group.folder(),
            self.folder.path().display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.link.sender().enter(&mut command).spawn().expect("a shell");
        self.v6 = Some((child, address));
        self.wait_for(address);
        true
    }

    /// Its IPv6 address.
    pub(crate) fn v6(&self) -> Option<SocketAddr> {
        self.v6.as_ref().map(|(_, address)| *address)
    }

    /// As [`Service::download`], over IPv6.
    pub(crate) fn download_v6(&self) -> (usize, u16) {
        let address = self.v6().expect("it was asked for");
        let connected = self.link.sender().run(|| TcpStream::connect(address));
        Service::get(connected.expect("the namespace").expect("a connection"))
    }

    /// All addresses of server and clients.
    pub(crate) fn ends(&self) -> Vec<IpAddr> {
        let ends = [self.link.sender(), self.link.receiver()].map(|end| end.address().into());
        ends.into_iter().chain(self.v6().map(|address| address.ip())).collect()
    }

    /// Downloads the object from the other end: bytes with the head, and the client's own port.
    pub(crate) fn download(&self) -> (usize, u16) {
        Service::get(self.connect())
    }

    fn get(mut stream: TcpStream) -> (usize, u16) {
        stream.write_all(b"GET /object HTTP/1.0\r\n\r\n").expect("asked");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("an answer");
        (got.len(), stream.local_addr().expect("bound").port())
    }

    /// Controller of the server's connections from now on.
    pub(crate) fn choose(&self, controller: &str) {
        let set = self.link.sender().set_sysctl("net/ipv4/tcp_congestion_control", controller);
        set.unwrap_or_else(|refusal| panic!("{controller}: {refusal}"));
    }

    /// TCP's counter of this kernel name at the server's end.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let counted = self.link.sender().tcp_counters().expect("TCP's counters");
        counted.get(name).unwrap_or_else(|| panic!("this kernel has no {name}"))
    }

    /// So many, one after the other.
    pub(crate) fn downloads(&self, count: usize) {
        for _ in 0..count {
            self.download();
        }
    }

    /// A connection that asks for nothing yet.
    pub(crate) fn connect(&self) -> TcpStream {
        let address = self.address;
        let connected = self.link.receiver().run(|| TcpStream::connect(address));
        connected.expect("the namespace").expect("a connection")
    }

    /// Addresses that must not be in any file.
    pub(crate) fn addresses(&self) -> [String; 2] {
        [self.link.sender(), self.link.receiver()].map(|end| end.address().to_string())
    }

    /// A place for files.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for child in [&mut self.child].into_iter().chain(self.v6.as_mut().map(|(child, _)| child)) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `firstflight` with these arguments, once it says `ready`; nothing where it is not permitted.
pub(crate) fn started(arguments: &[&str], ready: &str) -> Option<(Child, BufReader<ChildStderr>)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    if line.contains(ready) {
        return Some((child, said));
    }
    child.wait().expect("it ends");
    assert!(line.contains("not permitted"), "it fails only for want of permission: {line}");
    println!("skipped: {}", line.trim());
    None
}

/// Sends a signal, and waits for the end: code and standard output.
pub(crate) fn ended(mut child: Child, signal: &str) -> (Option<i32>, String) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    (child.wait().expect("it ends").code(), text)
}

/// BPF programs of the kernel with this name; none where it does not list them.
pub(crate) fn programs(name: &str) -> usize {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let ends = format!("_{name}");
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.filter(|symbol| symbol.starts_with("bpf_prog_") && symbol.ends_with(&ends)).count()
}

/// Waits until no program of this name is left.
pub(crate) fn assert_no_program(name: &str) {
    let patience = Instant::now() + Duration::from_secs(10);
    while programs(name) > 0 && Instant::now() < patience {
        sleep(Duration::from_millis(20));
    }
    assert_eq!(programs(name), 0, "`{name}` is still in the kernel");
}
