//! Streams of both devices run at the same time, as the times in a capture show.

use pellucid::capture;
use pellucid::{
    Array, Device, Dtype, Result, Stream, async_eval, is_available, new_stream, ops, synchronize,
};
use pellucid::{eval, with_stream};
use pellucid_trace::Trace;

/// When launches of a stream ran, in nanoseconds.
type Spans = Vec<(i64, i64)>;

const MOST_TRIES: usize = 5;

/// Products one after the other, each handed over by itself, so that streams can take turns.
fn chain(stream: Stream, x: &Array, links: usize) -> Result<Vec<Array>> {
    with_stream(stream, || {
        let mut made = vec![x.clone()];
        for i in 0..links {
            let next = ops::multiply(&ops::matmul(&made[i], x), 1.0 / 256.0);
            async_eval([&next]);
            made.push(next);
        }
        Ok(made)
    })
}

fn captured(streams: &[Stream; 3]) -> Result<[Spans; 3]> {
    let folder = tempfile::tempdir().expect("a folder for the capture");
    let path = folder.path().join("overlap.pltrace");
    let x = with_stream(streams[2], || ops::full([256, 256], 1.0, Dtype::Float32));
    eval([&x])?;
    // Compiled and uploaded before the capture.
    eval(&chain(streams[0], &x, 1)?)?;
    eval(&chain(streams[1], &x, 1)?)?;
    capture::start_with(&path, capture::Options::default().mode(capture::Mode::Timeline))?;
    let mut made = Vec::new();
    for round in 0..6 {
        let links = [4, 4, 30];
        for (&stream, links) in streams.iter().zip(links) {
            made.push(chain(stream, &x, links + round % 2)?);
        }
    }
    for &stream in streams {
        synchronize(stream)?;
    }
    capture::stop()?;
    let last: Vec<&Array> = made.iter().filter_map(|chain| chain.last()).collect();
    assert!(last.iter().all(|a| a.to_vec::<f32>().is_ok_and(|v| v.iter().all(|&e| e == 1.0))));
    let trace = Trace::open(&path).expect("the capture can be read");
    let launches = trace.launches().expect("it has launches").rows();
    Ok(streams.map(|stream| {
        let own = launches.iter().filter(|launch| launch.stream as usize == stream.index());
        own.map(|launch| (launch.start_ns, launch.end_ns)).collect()
    }))
}

/// Whether something of `a` and something of `b` ran at the same time.
fn at_once(a: &Spans, b: &Spans) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.0 < y.1 && y.0 < x.1))
}

/// Whether both were under way at some time: a device with one queue takes turns between streams.
fn take_turns(a: &Spans, b: &Spans) -> bool {
    let whole = |spans: &Spans| spans.iter().copied().reduce(|x, y| (x.0.min(y.0), x.1.max(y.1)));
    matches!((whole(a), whole(b)), (Some(a), Some(b)) if a.0 < b.1 && b.0 < a.1)
}

#[test]
fn two_gpu_streams_and_a_cpu_stream_overlap() -> Result<()> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
        return Ok(());
    }
    let streams = [new_stream(Device::gpu())?, new_stream(Device::gpu())?, new_stream(Device::cpu())?];
    let mut tries = 0;
    loop {
        let [first, second, cpu] = captured(&streams)?;
        let turns = take_turns(&first, &second);
        let with_cpu = at_once(&first, &cpu) && at_once(&second, &cpu);
        for (name, spans) in [("gpu 1", &first), ("gpu 2", &second), ("cpu", &cpu)] {
            let start = first.first().map_or(0, |s| s.0);
            let shown: Vec<_> =
                spans.iter().take(12).map(|s| ((s.0 - start) / 1000, (s.1 - start) / 1000)).collect();
            println!("{name}: {} launches, the first of them from and to (µs) {shown:?}", spans.len());
        }
        tries += 1;
        // A busy machine may run one after the other.
        if turns && with_cpu {
            return Ok(());
        }
        assert!(tries < MOST_TRIES, "two GPU streams: {turns}, with a CPU stream: {with_cpu}");
    }
}
