//! A worker asks for no memory, whatever the packets are.

use bench::alloc::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_packet_path_does_not_allocate() {
    for (name, allocations) in bench::allocations::counted().expect("it runs") {
        assert_eq!(allocations, 0, "{name}");
    }
}

#[test]
fn the_count_counts() {
    let before = bench::alloc::count();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(bench::alloc::count() - before, 1);
}
