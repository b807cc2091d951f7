use super::{Counters, TcpCounters};

#[test]
fn counters_are_found_by_name_wherever_the_kernel_puts_them() {
    let text = "TcpExt: SyncookiesSent TCPLostRetransmit TCPSackRecovery TCPDSACKUndo TCPFullUndo\nTcpExt: 1 22 333 4 5\nIpExt: TCPLostRetransmit\nIpExt: 9\n";
    let counters = Counters::of(&TcpCounters::parse(text));
    assert_eq!(
        counters,
        Counters { lost_repeats: 22, recoveries: 333, undone: 9 },
        "named values of the TCP part, and no others"
    );
    assert_eq!(
        Counters::of(&TcpCounters::parse("")),
        Counters::default(),
        "a kernel that counts nothing"
    );
}
