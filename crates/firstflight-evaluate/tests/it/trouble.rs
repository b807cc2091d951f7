//! Arms that cannot be evaluated.

use crate::{asked, battery_of};
use firstflight_evaluate::{Effort, evaluate};
use std::sync::atomic::AtomicBool;

const SMALL: &str = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms\"\nfor = \"5s\"\nflow = [{ who = \"@algorithm\" }]\njudge = [{ metric = \"loss\", rule = \"report\" }]\n";

#[test]
fn what_the_simulator_cannot_put_into_the_seat_is_refused_in_a_line() {
    for (arm, said) in
        [("kernel:bbr", "the kernel's own"), ("slowstart@(detection=rack)", "`detection`")]
    {
        let evaluation = asked(battery_of(SMALL), arm, Effort::Quick);
        let bad =
            evaluate(&evaluation, &|_| (), &AtomicBool::new(false)).expect_err(arm).to_string();
        assert!(bad.contains(said) && !bad.contains('\n'), "of {arm} it is said: {bad}");
    }
}
