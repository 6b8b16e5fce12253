//! A kernel of your own: the Mandelbrot set in WGSL, as a node of the graph like all others.
//!
//! `cargo run --release --example wgsl_kernel`

use pellucid::gpu;
use pellucid::prelude::*;

const WIDTH: usize = 72;
const HEIGHT: usize = 28;
const MOST: u32 = 50;

/// How many steps it takes a number to leave the circle of radius two.
fn steps(re: f32, im: f32) -> u32 {
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for i in 0..MOST {
        if x * x + y * y > 4.0 {
            return i;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    MOST
}

/// Runs the example.
pub fn main() -> Result<()> {
    let body = format!(
        "if (id.x >= count_shape[1] || id.y >= count_shape[0]) {{ return; }}
         let c = vec2<f32>(re[id.x], im[id.y]);
         var z = vec2<f32>(0.0);
         var i = 0u;
         for (; i < {MOST}u && dot(z, z) <= 4.0; i++) {{
             z = vec2<f32>(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
         }}
         count[id.y * count_shape[1] + id.x] = i;"
    );
    let mandelbrot = gpu::Kernel::new("mandelbrot", body)
        .workgroup_size([8, 8, 1])
        .input("re", Dtype::Float32)
        .input("im", Dtype::Float32)
        .output("count", Dtype::Uint32)
        // The same in Rust: where there is no GPU, and to compare with.
        .on_host(|call| {
            let (re, im) = (call.input::<f32>(0)?.to_vec(), call.input::<f32>(1)?.to_vec());
            let count = call.output::<u32>(0)?;
            for (y, &im) in im.iter().enumerate() {
                for (x, &re) in re.iter().enumerate() {
                    count[y * WIDTH + x] = steps(re, im);
                }
            }
            Ok(())
        });
    mandelbrot.check()?;

    let device = if gpu::is_available() { Device::gpu() } else { Device::cpu() };
    let (re, im) = (Array::linspace(-2.2, 0.8, WIDTH), Array::linspace(-1.2, 1.2, HEIGHT));
    let grid = [WIDTH as u32, HEIGHT as u32, 1];
    let count = with_device(device, || mandelbrot.call(&[&re, &im], grid, [[HEIGHT, WIDTH]]).remove(0))?;

    // What it made is an array, and goes on like one.
    let inside = count.equal(MOST).sum(..).item::<i32>()?;
    for row in count.to_vec2::<u32>()? {
        let mark =
            |n: &u32| if *n == MOST { '#' } else { [' ', '.', ':', '+', '*'][(*n as usize / 3).min(4)] };
        println!("{}", row.iter().map(mark).collect::<String>());
    }
    println!("on {device}: {inside} of {} numbers stay", WIDTH * HEIGHT);
    assert!((300..800).contains(&inside), "{inside}");
    Ok(())
}
