//! Facts of a client that no file may contain, looked for in every notation: addresses as text, as numbers in
//! either order of bytes, as bytes; ports; payload. Parquet is compressed, so its cells are decoded.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// Values to look for.
#[derive(Default)]
pub(crate) struct Secrets {
    texts: Vec<String>,
    bytes: Vec<Vec<u8>>,
    ports: BTreeSet<u16>,
}

impl Secrets {
    pub(crate) fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => self.v4(v4),
            IpAddr::V6(v6) => self.v6(v6),
        }
    }

    fn v4(&mut self, address: Ipv4Addr) {
        let [a, b, c, _] = address.octets();
        let number = u32::from(address);
        self.texts.extend([address.to_string(), format!("{a}.{b}.{c}.")]);
        self.texts.push(format!("::ffff:{:x}:{:x}", number >> 16, number & 0xffff));
        self.words(&[number]);
    }

    fn v6(&mut self, address: Ipv6Addr) {
        let number = u128::from(address);
        let whole = address.segments().map(|segment| format!("{segment:04x}")).join(":");
        self.texts.extend([address.to_string(), whole[..16].to_owned(), whole]);
        for number in [number, number.swap_bytes()] {
            self.texts.extend([number.to_string(), format!("{number:032x}")]);
            // Halves, as a reader of 64 bits has them.
            for half in [(number >> 64) as u64, number as u64] {
                self.texts.extend([half.to_string(), half.cast_signed().to_string()]);
                self.texts.push(format!("{half:016x}"));
            }
        }
        let words = [96, 64, 32, 0].map(|shift| (number >> shift) as u32);
        self.words(&words);
    }

    /// As a program of the kernel sees them, 32 bits at a time.
    fn words(&mut self, words: &[u32]) {
        let whole: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.bytes.extend([whole.iter().rev().copied().collect(), whole]);
        for number in words.iter().flat_map(|word| [*word, word.swap_bytes()]) {
            self.texts.extend([number.to_string(), number.cast_signed().to_string()]);
            self.texts.extend([format!("{number:08x}"), format!("{number:08X}")]);
        }
    }

    /// A port of a client. One number of five digits says nothing; many of them do.
    pub(crate) fn port(&mut self, port: u16) {
        self.ports.insert(port);
    }

    pub(crate) fn payload(&mut self, text: &str) {
        self.texts.push(text.to_owned());
    }

    /// Values found in a file.
    pub(crate) fn found_in(&self, file: &Path) -> Vec<String> {
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let holds = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        let mut found: Vec<String> = self
            .bytes
            .iter()
            .filter(|secret| holds(secret))
            .map(|secret| format!("the bytes {secret:02x?}"))
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        found.extend(self.in_text(&text));
        if bytes.starts_with(b"PAR1") {
            found.extend(self.in_parquet(file));
        }
        found
    }

    fn in_text(&self, text: &str) -> Vec<String> {
        let secrets = self.texts.iter().filter(|secret| text.contains(secret.as_str()));
        let mut found: Vec<String> = secrets.cloned().collect();
        let numbers = text.split(|one: char| !one.is_ascii_digit());
        let numbers = numbers.filter_map(|number| number.parse().ok());
        found.extend(self.among(numbers));
        found
    }

    /// Whoever writes ports writes those of all connections.
    fn among(&self, numbers: impl Iterator<Item = u64>) -> Option<String> {
        let told: BTreeSet<u16> = numbers
            .flat_map(|number| {
                let port = u16::try_from(number).ok();
                let wide = u32::try_from(number).ok().filter(|wide| wide.trailing_zeros() >= 16);
                let high = wide.map(|wide| (wide >> 16) as u16);
                [port, port.map(u16::swap_bytes), high, high.map(u16::swap_bytes)]
            })
            .flatten()
            .filter(|port| self.ports.contains(port))
            .collect();
        (told.len() > 2 && told.len() * 2 > self.ports.len())
            .then(|| format!("{} of {} ports", told.len(), self.ports.len()))
    }

    #[cfg(feature = "parquet")]
    fn in_parquet(&self, file: &Path) -> Vec<String> {
        let rows = firstflight_lab::field::every_row(file).expect("rows");
        assert!(!rows.is_empty(), "{} is a file without rows", file.display());
        let text: Vec<String> =
            rows.iter().map(|row| Value::Object(row.clone()).to_string()).collect();
        let mut found = self.in_text(&text.join("\n"));
        for name in rows[0].keys() {
            let numbers = rows.iter().filter_map(|row| row[name].as_u64());
            found.extend(self.among(numbers).map(|told| format!("{told} under `{name}`")));
        }
        found
    }

    #[cfg(not(feature = "parquet"))]
    fn in_parquet(&self, _file: &Path) -> Vec<String> {
        Vec::new()
    }

    /// Nothing of it stands in any file of these places; how many files there are.
    pub(crate) fn assert_in_none(&self, places: &[&Path]) -> usize {
        let mut files = Vec::new();
        for place in places {
            below(place, &mut files);
        }
        for file in &files {
            let found = self.found_in(file);
            assert!(found.is_empty(), "{} has {found:?}", file.display());
        }
        files.len()
    }
}

fn below(place: &Path, files: &mut Vec<PathBuf>) {
    if !place.is_dir() {
        return files.push(place.to_owned());
    }
    for entry in fs::read_dir(place).expect("a folder") {
        below(&entry.expect("an entry").path(), files);
    }
}

/// A search that finds nothing proves something only if it finds what is there.
#[test]
fn what_is_written_on_purpose_is_found_in_every_notation() {
    let place = tempfile::tempdir().expect("a folder");
    let v4 = Ipv4Addr::new(10, 77, 0, 2);
    let v6: Ipv6Addr = "2001:db8:1f40:99b0:c1a2:e3f4:5061:7283".parse().expect("an address");
    let mut secrets = Secrets::default();
    secrets.address(v4.into());
    secrets.address(v6.into());
    secrets.payload("GET /object");
    (40_001..40_009).for_each(|port| secrets.port(port));
    let ports = |one: fn(u16) -> u32| {
        let all: Vec<String> = (40_001..40_009).map(|port| one(port).to_string()).collect();
        all.join(",")
    };
    let written: Vec<String> = vec![
        "of 10.77.0.2 it".into(),
        "net 10.77.0.0/24".into(),
        format!("{}", u32::from(v4)),
        format!("{}", u32::from(v4).swap_bytes()),
        format!("{:08x}", u32::from(v4)),
        "::ffff:a4d:2".into(),
        v6.to_string(),
        "2001:0db8:1f40:99".into(),
        format!("{:x}", u128::from(v6)),
        format!("{}", u128::from(v6)),
        format!("{}", (u128::from(v6) >> 64) as u64),
        format!("{}", (u128::from(v6) as u32).swap_bytes()),
        "a GET /object".into(),
        ports(u32::from),
        ports(|port| u32::from(port.swap_bytes())),
        ports(|port| u32::from(port) << 16),
    ];
    for text in &written {
        let file = place.path().join("text");
        fs::write(&file, text).expect("written");
        assert!(!secrets.found_in(&file).is_empty(), "{text}");
    }
    for bytes in
        [v4.octets().to_vec(), v6.octets().to_vec(), v6.octets().iter().rev().copied().collect()]
    {
        let file = place.path().join("bytes");
        fs::write(&file, [b"before".as_slice(), &bytes, b"after"].concat()).expect("written");
        assert!(!secrets.found_in(&file).is_empty(), "{bytes:02x?}");
    }
    let harmless = place.path().join("harmless");
    fs::write(&harmless, "40001 of 10.78.0.2, 3735928559").expect("written");
    assert!(secrets.found_in(&harmless).is_empty(), "one number is no port");
    #[cfg(feature = "parquet")]
    for (holds, cell) in [
        (firstflight_lab::field::Holds::Text, Value::from("10.77.0.2")),
        (firstflight_lab::field::Holds::Whole, Value::from(u32::from(v4).swap_bytes())),
        (firstflight_lab::field::Holds::Real, Value::from(f64::from(u32::from(v4)))),
    ] {
        use firstflight_lab::field::RowStore;
        let folder = tempfile::tempdir().expect("a folder");
        let columns = vec![("cell".to_owned(), holds)];
        let mut store = RowStore::open(folder.path(), columns).expect("a folder");
        let row = |cell| serde_json::Map::from_iter([("cell".to_owned(), cell)]);
        (0..50).for_each(|_| store.add(row(cell.clone())));
        store.flush().expect("written");
        let mut files = Vec::new();
        below(folder.path(), &mut files);
        assert_eq!(files.len(), 1);
        assert!(!secrets.in_parquet(&files[0]).is_empty(), "{cell}");
    }
}
