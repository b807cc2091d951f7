//! The tests of the simulator, in one program that links once.

mod access;
mod apps;
mod closed_forms;
mod conservation;
mod fast;
mod hosts;
mod late_queues;
mod limits;
mod media;
mod nada;
mod ns3;
mod quic_rules;
mod return_paths;
mod rig;
mod scale;
mod sharing;
mod skips;
mod tcp_board;
mod tcp_closed_form;
mod tcp_conservation;
mod tcp_presets;
mod tcp_timer_losses;
mod tcp_truth;
mod tcp_wire;
mod traps;
mod undo_truth;
