use super::*;

#[test]
fn changes_survive_being_written_down() {
    let changes = [
        Change::Default("cubic".into()),
        Change::Route {
            family: '6',
            before: "2001:db8::/32 dev eth0 metric 1024".into(),
            after: "2001:db8::/32 dev eth0 congctl x".into(),
        },
    ];
    let text = words(&ARMS[0], &changes);
    let read: Vec<Change> = text.lines().skip(1).filter_map(Change::parse).collect();
    assert_eq!(read, changes, "read back from {text:?}");
}

#[test]
fn a_listed_route_loses_its_states_and_is_recognised_in_any_order() {
    assert_eq!(
        settings("10.0.0.0/8 via 192.0.2.1 dev eth0 proto static linkdown "),
        "10.0.0.0/8 via 192.0.2.1 dev eth0 proto static"
    );
    assert!(same(
        "10.0.0.0/8 dev eth0 scope link congctl ff_best linkdown",
        "10.0.0.0/8 dev eth0 congctl ff_best scope link"
    ));
    assert!(!same(
        "10.0.0.0/8 dev eth0 scope link congctl bbr",
        "10.0.0.0/8 dev eth0 scope link congctl ff_best"
    ));
}
