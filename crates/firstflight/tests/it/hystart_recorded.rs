//! HyStart against recordings of the kernel's own (Linux 6.18): connections over emulated paths,
//! paced and not. Made by `FIRSTFLIGHT_RECORD=DIR cargo test -p firstflight-linux --features bpf
//! --test it hystart_trace::`, cut off twenty ACKs after the exit.

use crate::recorded_hystart;

use firstflight::startup::ExitReason;
use recorded_hystart::{Recording, replay};
use std::fs;
use std::path::Path;

/// Shows LINUX hystart-rate, LINUX hystart-limit.
#[test]
fn the_kernels_exits_fall_on_the_same_ack_and_its_rates_are_derived_to_the_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded_hystart");
    let (mut trains, mut delays, mut rates, mut paced, mut early) = (0, 0, 0, 0, 0);
    for entry in fs::read_dir(folder)
        .expect("recordings")
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "txt"))
    {
        let text = fs::read_to_string(entry.path()).expect("a recording");
        let recording = Recording::from_text(&text).expect("a recording");
        assert_eq!(recording.to_text(), text, "{}: reads back", recording.about);
        let compared = replay(&recording, u64::from(recording.gso_max_size));
        assert!(
            compared.agree(),
            "{}: kernel {:?}, core {:?}",
            recording.about,
            compared.kernel,
            compared.core
        );
        assert!(
            compared.reason_fits(&recording),
            "{}: {:?}, {} trains",
            recording.about,
            compared.core,
            recording.trains
        );
        assert_eq!(compared.rates_other, [], "{}: row, our rate, the kernel's", recording.about);
        match compared.core[..] {
            [(_, Some(ExitReason::Train))] => trains += 1,
            [(_, Some(ExitReason::Delay))] => delays += 1,
            _ => panic!("{}: one exit, not {:?}", recording.about, compared.core),
        }
        rates += compared.rates_equal;
        paced += u32::from(recording.paced);
        // Bursts of no bytes take no time: HyStart without the allowance.
        early += u32::from(!recording.paced && replay(&recording, 0).core != compared.core);
    }
    assert!(
        trains >= 2 && delays >= 2 && paced >= 1 && rates >= 250,
        "{trains} trains, {delays} delays, {paced} paced, {rates} rates"
    );
    assert!(early >= 4, "some show the allowance of an unpaced sender: {early}");
}
