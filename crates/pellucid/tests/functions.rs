//! Functions in files: what is read does what was recorded, and a file made to do harm is refused.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid::transform::{self, Exporter, Graph, Trace, grad, vmap};
use pellucid::{Array, Axes, Dtype, Error, Shape, io, ops};
use serde_json::{Value, json};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn floats(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

#[test]
fn a_function_is_called_without_its_code_and_its_arrays() {
    let folder = folder();
    let path = folder.path().join("line.function");
    {
        let weight = ops::add(&ops::ones([2, 2], Dtype::Float32), 1.0);
        let f = |(x, y): &(Array, Array)| (ops::matmul(x, &weight), ops::sum(y, Axes::All, false));
        let x = (ops::ones([1, 2], Dtype::Float32), ops::ones([3], Dtype::Int32));
        transform::export(&path, f, &x).unwrap();
    }
    let imported = transform::import(&path).unwrap();
    let made = imported.call(&[Array::from([[1.0f32, 2.0]]), Array::from([1, 2, 3])]).unwrap();
    assert_eq!(floats(&made[0]), [6.0, 6.0]);
    assert_eq!(made[1].item::<i32>().unwrap(), 6);
    assert_eq!(imported.metadata(), "");
}

#[test]
fn arrays_that_the_function_was_not_recorded_for_are_refused_with_what_was() {
    let folder = folder();
    let path = folder.path().join("f");
    transform::export(&path, |x: &Array| ops::sin(x), &Array::from([1.0f32, 2.0])).unwrap();
    let imported = transform::import(&path).unwrap();
    let text = imported.call(&[Array::from([1.0f32])]).unwrap_err().to_string();
    for part in ["1 positional inputs", "(2) float32", "(1) float32"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(matches!(imported.call(&[]), Err(Error::Argument { .. })));
}

#[test]
fn keywords_are_found_by_name() {
    let mut exporter = Exporter::new().metadata("notes");
    let trace = Trace::of_whole();
    let variables: Vec<Array> =
        (0..2).map(|_| trace.placeholder(Shape::default(), Dtype::Float32).unwrap()).collect();
    let difference = ops::subtract(&variables[0], &variables[1]);
    let graph = Graph::from_trace(trace, &variables, &[difference]).unwrap();
    let out_of_order = ["b".to_owned(), "a".to_owned()];
    assert!(matches!(exporter.add(&out_of_order, graph.clone()), Err(Error::Argument { .. })));
    exporter.add(&["a".to_owned(), "b".to_owned()], graph.clone()).unwrap();
    assert!(matches!(exporter.add(&["a".to_owned(), "b".to_owned()], graph), Err(Error::Argument { .. })));
    let folder = folder();
    let path = folder.path().join("f");
    exporter.save(&path).unwrap();
    let imported = transform::import(&path).unwrap();
    let (a, b) = (Array::from(5.0f32), Array::from(3.0f32));
    let made = imported.call_named(&[], &[("b", b.clone()), ("a", a.clone())]).unwrap();
    assert_eq!(made[0].item::<f32>().unwrap(), 2.0);
    assert!(imported.call(&[a, b]).is_err());
    assert_eq!(imported.metadata(), "notes");
}

#[test]
fn constants_are_stored_once_for_all_kinds_of_arguments() {
    let constant = ops::ones([1024, 16], Dtype::Float32);
    let mut exporter = Exporter::new();
    for n in 1..5usize {
        exporter
            .record(
                |x: &Array| ops::add(&ops::sum(x, Axes::All, false), &constant),
                &ops::ones(n, Dtype::Float32),
            )
            .unwrap();
    }
    let folder = folder();
    let path = folder.path().join("f");
    exporter.save(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < constant.nbytes() as u64 + 8192, "{size}");
    let made = transform::import(&path).unwrap().call(&[ops::ones(3, Dtype::Float32)]).unwrap();
    assert_eq!(floats(&made[0])[0], 4.0);
}

#[test]
fn a_shapeless_function_takes_other_sizes_but_not_other_ranks() {
    let mut exporter = Exporter::new().shapeless(true);
    let mean = |x: &Array| ops::multiply(&ops::mean(x, 1, true), ops::ones_like(x));
    exporter.record(mean, &ops::ones([2, 3], Dtype::Float32)).unwrap();
    let folder = folder();
    let path = folder.path().join("f");
    exporter.save(&path).unwrap();
    let imported = transform::import(&path).unwrap();
    let made = imported.call(&[Array::from([[1.0f32, 3.0]])]).unwrap();
    assert_eq!((made[0].shape(), floats(&made[0])), (&[1, 2][..], vec![2.0, 2.0]));
    assert!(imported.call(&[Array::from([1.0f32])]).is_err());
}

#[test]
fn an_imported_function_is_differentiated_and_mapped() {
    let folder = folder();
    let path = folder.path().join("f");
    let weight = Array::from([2.0f32, 3.0]);
    transform::export(
        &path,
        |x: &Array| ops::sum(&ops::multiply(&ops::square(x), &weight), Axes::All, false),
        &Array::from([0.0f32, 0.0]),
    )
    .unwrap();
    let imported = transform::import(&path).unwrap();
    let f = |x: &Array| imported.call(std::slice::from_ref(x)).unwrap().remove(0);
    assert_eq!(floats(&grad(f)(&Array::from([1.0f32, 1.0])).unwrap()), [4.0, 6.0]);
    assert_eq!(floats(&vmap(f)(&Array::from([[1.0f32, 0.0], [0.0, 1.0]])).unwrap()), [2.0, 3.0]);
}

#[test]
fn what_the_function_reads_from_a_file_is_a_constant_of_it() {
    let folder = folder();
    let data = io::save(folder.path().join("data"), &Array::from([7.0f32])).unwrap();
    let path = folder.path().join("f");
    let f = |x: &Array| ops::add(x, &io::load(&data).unwrap().into_array().unwrap());
    transform::export(&path, f, &Array::from([1.0f32])).unwrap();
    std::fs::remove_file(&data).unwrap();
    let made = transform::import(&path).unwrap().call(&[Array::from([1.0f32])]).unwrap();
    assert_eq!(floats(&made[0]), [8.0]);
}

/// A file whose functions are these.
fn written(folder: &tempfile::TempDir, functions: &[u8]) -> PathBuf {
    let notes = BTreeMap::from([("format".to_owned(), "pellucid.function".to_owned())]);
    let arrays = [("functions", Array::from(functions.to_vec())), ("constant.0", Array::from([1.0f32]))];
    io::save_safetensors(folder.path().join("hostile"), arrays, &notes).unwrap()
}

#[test]
fn hostile_files_are_refused_with_what_is_wrong() {
    let folder = folder();
    let one = json!([[2], "float32"]);
    let document =
        |function: Value| json!({"version": 1, "shapeless": false, "sources": [], "functions": [function]});
    let function = |calls: Value, outputs: Value| {
        document(json!({"inputs": [one], "constants": [], "calls": calls, "outputs": outputs}))
    };
    let call = |op: Value, inputs: Value| json!([{"op": op, "inputs": inputs}]);
    let cases = [
        (json!({}), "version"),
        (json!({"version": 99}), "version 99"),
        (json!("text"), "invalid type"),
        (function(json!([]), json!([9])), "value 9"),
        (function(call(json!({"unary": "sin"}), json!([5])), json!([1])), "value 5"),
        (function(call(json!({"unary": "sin"}), json!([0, 0])), json!([1])), "takes 1"),
        (function(call(json!({"unary": "none"}), json!([0])), json!([1])), "none"),
        (function(call(json!("matmul"), json!([0])), json!([1])), "takes 2"),
        (
            function(call(json!({"reshape": {"shape": [1u64 << 40, 1u64 << 40]}}), json!([0])), json!([1])),
            "reshape",
        ),
        (
            function(
                call(
                    json!({"full": {"shape": [u64::MAX, u64::MAX], "dtype": "float32", "value": {"int": 1}}}),
                    json!([]),
                ),
                json!([1]),
            ),
            "full",
        ),
        (
            function(
                call(
                    json!({"load": {"path": "/etc/passwd", "member": "", "offset": 0, "size": 9, "shape": [1], "dtype": "uint8", "foreign_order": false}}),
                    json!([]),
                ),
                json!([1]),
            ),
            "reads no other files",
        ),
        (function(json!([{"op": {"unary": "sin"}, "inputs": [0], "role": "king"}]), json!([1])), "role"),
        (function(json!([{"op": {"unary": "sin"}, "inputs": [0], "line": [3, 1]}]), json!([1])), "source 3"),
        (function(json!([{"op": {"unary": "sin"}, "inputs": [0], "of": 4}]), json!([1])), "value 4"),
        (
            function(
                json!([{"op": {"broadcast": {"shape": [2]}}, "inputs": [0], "shape_from": {"like": 7}}]),
                json!([1]),
            ),
            "value 7",
        ),
        (
            document(
                json!({"inputs": [[[u64::MAX], "float64"]], "constants": [], "calls": [], "outputs": []}),
            ),
            "addresses",
        ),
        (
            document(
                json!({"inputs": [one], "keywords": ["b", "a"], "constants": [], "calls": [], "outputs": []}),
            ),
            "keywords",
        ),
        (
            document(json!({"inputs": [], "constants": ["constant.7"], "calls": [], "outputs": []})),
            "constant.7",
        ),
    ];
    for (document, part) in cases {
        let text = document.to_string();
        let error = transform::import(written(&folder, text.as_bytes())).unwrap_err();
        assert!(matches!(error, Error::Format { .. }) && error.to_string().contains(part), "{text}: {error}");
    }
    // Sizes that only a call would find out: an error of the call, nothing worse.
    let huge = json!({"version": 1, "shapeless": true, "sources": [], "functions": [{
        "inputs": [one], "constants": [], "outputs": [1],
        "calls": [{"op": {"reshape": {"shape": [2]}}, "inputs": [0],
                   "shape_from": {"dims": [{"is": u64::MAX}, {"is": u64::MAX}, "rest"]}}],
    }]});
    let imported = transform::import(written(&folder, huge.to_string().as_bytes())).unwrap();
    assert!(imported.call(&[Array::from([1.0f32, 2.0])]).is_err());
}

#[test]
fn a_damaged_file_is_an_error_or_a_function_that_can_be_called() {
    let folder = folder();
    let path = folder.path().join("f");
    let weight = ops::ones([3, 3], Dtype::Float32);
    let f = |x: &Array| ops::softmax(&ops::matmul(&ops::exp(x), &weight), 1, false);
    let x = ops::ones([2, 3], Dtype::Float32);
    transform::export(&path, f, &x).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut random = 1u32;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below
    };
    for round in 0..600 {
        let mut damaged = bytes.clone();
        match round % 3 {
            0 => damaged.truncate(next(bytes.len())),
            1 => damaged[next(bytes.len())] ^= 1 << next(8),
            _ => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
                damaged[digits[next(digits.len())]] = b'0' + next(10) as u8;
            }
        }
        std::fs::write(&path, &damaged).unwrap();
        if let Ok(imported) = transform::import(&path)
            && let Ok(made) = imported.call(std::slice::from_ref(&x))
        {
            // Whatever the elements are now; an error is as good.
            for array in made.iter().filter(|array| array.size() < 1 << 16) {
                drop(array.eval());
            }
        }
    }
}

#[test]
fn a_file_of_arrays_is_not_a_function() {
    let folder = folder();
    let none = BTreeMap::new();
    let path =
        io::save_safetensors(folder.path().join("weights"), [("w", Array::from([1.0f32]))], &none).unwrap();
    let text = transform::import(&path).unwrap_err().to_string();
    assert!(text.contains("export_function"), "{text}");
    assert!(matches!(transform::import(folder.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(
        transform::export(folder.path().join("none/f"), |x: &Array| x.clone(), &Array::from(1)),
        Err(Error::Io { .. })
    ));
}
