//! Addresses in the form `HOST:PORT`, where a name may have several addresses.

use firstflight_lab::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Resolves `HOST:PORT` to all its addresses. `localhost` is always both loopback addresses (RFC
/// 6761 section 6.3), whatever the hosts file says.
pub(crate) fn resolve(option: &str, text: &str) -> Result<Vec<SocketAddr>, Error> {
    let wrong = |why: &str| {
        Error::new(format!(
            "{option} {text}: {why}; allowed: HOST:PORT, such as 127.0.0.1:4433 or [::1]:4433"
        ))
    };
    if let Some((host, port)) = text.rsplit_once(':')
        && host.eq_ignore_ascii_case("localhost")
    {
        let port: u16 = port.parse().map_err(|_| wrong("invalid port value"))?;
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]);
    }
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in text.to_socket_addrs().map_err(|error| wrong(&error.to_string()))? {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() { Err(wrong("no address")) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn a_name_is_all_of_its_addresses_and_a_number_is_itself() {
        let all = |text| {
            let all = resolve("--listen", text).expect("addresses");
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(all("localhost:0"), ["127.0.0.1:0", "[::1]:0"]);
        assert_eq!(all("LocalHost:4433"), ["127.0.0.1:4433", "[::1]:4433"]);
        assert_eq!(all("127.0.0.1:5"), ["127.0.0.1:5"]);
        assert_eq!(all("[::1]:5"), ["[::1]:5"]);
        for text in ["localhost", "localhost:", "localhost:65536", "localhost:-1", "::1", "", ":"] {
            let refused = resolve("--listen", text).expect_err(text).to_string();
            assert!(refused.contains("HOST:PORT") && refused.starts_with("--listen"), "{refused}");
        }
    }
}
