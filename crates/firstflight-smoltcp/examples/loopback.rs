//! Sends a megabyte over smoltcp's loopback, controlled by an arm: `loopback [ARM]`.

use firstflight::Arm;
use firstflight_smoltcp::Steered;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, Loopback, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const BYTES: usize = 1_000_000;
/// Payload of the loopback's packets of 65 535 bytes after headers.
const MSS: u16 = 65_495;

fn socket<'a>() -> tcp::Socket<'a> {
    let buffer = || tcp::SocketBuffer::new(vec![0; 1_048_576]);
    tcp::Socket::new(buffer(), buffer())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "hystart++/cubic/prr".to_owned());
    let arm = Arm::parse(&text).map_err(|error| error.to_string())?;
    let mut device = Steered::new(Loopback::new(Medium::Ip), 4000, &arm, MSS)?;
    let mut now = Instant::ZERO;
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, now);
    let here = IpAddress::v4(127, 0, 0, 1);
    interface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(here, 8)).unwrap_or_else(|_| unreachable!("the first address"));
    });
    let mut sockets = SocketSet::new(vec![]);
    let (receiver, sender) = (sockets.add(socket()), sockets.add(socket()));
    sockets.get_mut::<tcp::Socket>(receiver).listen(80)?;
    sockets.get_mut::<tcp::Socket>(sender).connect(interface.context(), (here, 80), 4000)?;
    let (data, mut sent, mut received) = (vec![7; BYTES], 0, 0);
    while received < BYTES {
        interface.poll(now, &mut device, &mut sockets);
        let socket = sockets.get_mut::<tcp::Socket>(sender);
        if socket.may_send() && sent < BYTES {
            sent += device.send(now, socket, &data[sent..])?;
        }
        let socket = sockets.get_mut::<tcp::Socket>(receiver);
        while socket.can_recv() {
            received += socket.recv(|bytes| (bytes.len(), bytes.len()))?;
        }
        let (cwnd, phase) = (device.controller().cwnd(), device.controller().phase());
        println!("{now}: {received} bytes delivered, window {cwnd} bytes, {phase:?}");
        now += Duration::from_millis(1);
    }
    println!("{} packets of at most {} bytes", received.div_ceil(MSS.into()), {
        device.capabilities().max_transmission_unit
    });
    Ok(())
}
