//! Sockets at every address of a name.

use firstflight_path::Error;
use socket2::{Domain, Socket, Type};
use std::io::{Error as IoError, ErrorKind};
use std::net::SocketAddr;

/// Number of attempts with another free port if the first is taken at one of the addresses.
const TRIES: usize = 16;

/// Binds a socket at each of `listen`; port 0 selects a free port, the same for all of them. If
/// there are several addresses, those that this machine does not have are left out, such as `::1`
/// without IPv6.
///
/// # Errors
/// A one-line message if an address is taken, or this machine has none of them.
pub(crate) fn bind_all(
    listen: &[SocketAddr],
    kind: Type,
) -> Result<Vec<(Socket, SocketAddr)>, Error> {
    let mut tries = 0;
    loop {
        match bind_once(listen, kind) {
            Ok(all) if all.is_empty() => return Err(Error::new("no address to listen on")),
            Ok(all) => return Ok(all),
            Err((address, error))
                if address.port() == 0 && error.kind() == ErrorKind::AddrInUse && tries < TRIES =>
            {
                tries += 1;
            }
            Err((address, error)) => return Err(Error::new(format!("{address}: {error}"))),
        }
    }
}

type Refused = (SocketAddr, IoError);

fn bind_once(listen: &[SocketAddr], kind: Type) -> Result<Vec<(Socket, SocketAddr)>, Refused> {
    let mut all: Vec<(Socket, SocketAddr)> = Vec::new();
    let mut missing = None;
    for address in listen {
        let mut here = *address;
        if let (0, Some((_, first))) = (here.port(), all.first()) {
            here.set_port(first.port());
        }
        match bind(here, kind) {
            Ok(socket) => all.push(socket),
            Err((error, true)) if listen.len() > 1 => missing = Some((*address, error)),
            Err((error, _)) => return Err((*address, error)),
        }
    }
    match missing {
        Some(missing) if all.is_empty() => Err(missing),
        _ => Ok(all),
    }
}

/// On failure returns the error, and whether this machine lacks the address.
fn bind(address: SocketAddr, kind: Type) -> Result<(Socket, SocketAddr), (IoError, bool)> {
    // A kernel without IPv6 refuses the socket; one whose interfaces have no IPv6 address refuses
    // the address.
    let socket = Socket::new(Domain::for_address(address), kind, None)
        .map_err(|error| (error, address.is_ipv6()))?;
    let bound = || {
        if kind == Type::STREAM {
            socket.set_reuse_address(true)?;
        }
        socket.bind(&address.into())?;
        socket.local_addr()
    };
    let local = bound().map_err(|error| {
        let missing = error.kind() == ErrorKind::AddrNotAvailable;
        (error, missing)
    })?;
    Ok((socket, local.as_socket().unwrap_or(address)))
}

#[cfg(test)]
mod tests {
    use super::bind_all;
    use socket2::Type;
    use std::net::SocketAddr;

    fn addresses(text: &[&str]) -> Vec<SocketAddr> {
        text.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[test]
    fn a_free_port_is_the_same_everywhere_and_addresses_of_others_are_left_out() {
        for kind in [Type::DGRAM, Type::STREAM] {
            let all = bind_all(&addresses(&["127.0.0.1:0", "127.0.0.2:0"]), kind).expect("bound");
            assert_eq!((all[0].1.port(), all.len()), (all[1].1.port(), 2));
            // 192.0.2.1 is reserved for documentation: no machine has it.
            let listen = addresses(&["192.0.2.1:0", "127.0.0.1:0"]);
            let some = bind_all(&listen, kind).expect("bound");
            assert_eq!((some.len(), some[0].1.ip()), (1, listen[1].ip()));
            for listen in [&addresses(&["192.0.2.1:0"])[..], &addresses(&["192.0.2.1:0"; 2]), &[]] {
                bind_all(listen, kind).expect_err("nowhere to listen");
            }
            let taken = bind_all(&[all[0].1], Type::DGRAM);
            assert_eq!(taken.is_err(), kind == Type::DGRAM, "a port that is taken is an error");
        }
    }
}
