//! What an observer sees.

use parking_lot::Mutex;

use super::*;
use crate::array::Value;
use crate::observe::{Launch, MemoryAction, MemoryEvent, Observer, Outcome, WaitEvent};

struct Recorder(Mutex<Vec<MemoryEvent>>);

impl Observer for Recorder {
    fn memory(&self, event: &MemoryEvent) {
        self.0.lock().push(*event);
    }
    fn before(&self, _: &Launch, _: &[Value]) {}
    fn after(&self, _: &Launch, _: &Outcome) {}
    fn wait(&self, _: &WaitEvent) {}
}

#[test]
fn every_change_is_told_in_order_with_the_figures_after_it() {
    use MemoryAction::{Allocate, Evict, Free, Reuse};
    let (central, _) = idle(10 * MIB, 10 * MIB);
    let seen = Arc::new(Recorder(Mutex::default()));
    central.accounts().stand_in = Some(seen.clone());
    let allocate = |bytes, op| Held(central, central.allocate(&Demand { op, ..demand(bytes) }).unwrap());
    drop(allocate(8192, 5));
    let (first, second) = (allocate(8000, 6), allocate(100, 7));
    let third = allocate(100, 8);
    drop((first, second));
    central.clear_cache();
    drop(third);
    let events = std::mem::take(&mut *seen.0.lock());
    let figures = |e: &MemoryEvent| (e.action, e.op, e.bytes, e.active, e.cache, e.peak);
    assert_eq!(
        events.iter().map(figures).collect::<Vec<_>>(),
        [
            (Allocate, 5, 8192, 8192, 0, 8192),
            (Free, 5, 8192, 0, 8192, 8192),
            (Reuse, 6, 8192, 8192, 0, 8192),
            (Allocate, 7, 128, 8320, 0, 8320),
            (Reuse, 8, 128, 8448, 0, 8448),
            (Free, 6, 8192, 256, 8192, 8448),
            (Free, 7, 128, 128, 8192, 8448),
            (Evict, 0, 8192, 128, 0, 8448),
            (Free, 8, 128, 0, SLAB, 8448),
        ]
    );
    assert!(events.iter().all(|e| e.device == Device::cpu() && (e.buffer == 0) == (e.action == Evict)));
    assert_eq!((events[0].buffer, events[1].buffer), (1, 1));
}
