//! Mistakes in the text of a kernel, told with the line they are on.

use wgpu::naga;

use crate::error::{Error, Result};
use crate::op::CustomKernel;

/// Bytes of variables that each invocation has for itself. WGSL promises 8 KiB; compilers unroll and spill what is
/// larger, and take longer than a program should wait.
const MOST_PRIVATE: u64 = 32 << 10;

/// Parses and validates the text of a kernel, as any GPU's compiler will.
///
/// # Errors
/// [`Error::Argument`] that shows the line of the user's text, with a mark under the place.
pub(crate) fn check(spec: &CustomKernel) -> Result<()> {
    // Shapes are not known yet; one axis stands for all, and constants of shapes have the longest form.
    let unknown = [1usize; 8];
    let outputs = spec.outputs.iter().map(|(port, _)| (port.clone(), unknown.as_slice().into())).collect();
    let spec = CustomKernel { outputs, ..spec.clone() };
    let shapes = vec![unknown.as_slice(); spec.inputs.len()];
    let (source, starts) = spec.wgsl(false, &shapes);
    let told = |message: String, place: Option<naga::SourceLocation>| {
        Error::argument("kernel", format!("kernel {:?} {}", spec.name, shown(&spec, starts, &message, place)))
    };
    let module = naga::front::wgsl::parse_str(&source).map_err(|error| {
        let said = error.message();
        let labels = error.labels().filter(|(_, label)| !label.is_empty() && *label != said);
        let details: String = labels.map(|(_, label)| format!(" ({label})")).collect();
        told(format!("{said}{details}"), error.location(&source))
    })?;
    let mut validator =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
    validator.validate(&module).map(drop).map_err(|error| {
        let mut message = error.as_inner().to_string();
        let mut cause = std::error::Error::source(error.as_inner());
        while let Some(inner) = cause {
            message.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        told(message, error.location(&source))
    })?;
    let private = private_bytes(&module);
    if private > MOST_PRIVATE {
        let message = format!(
            "kernel {:?} has variables of {private} bytes for each invocation; more than {MOST_PRIVATE} fit no GPU's \
             registers and take compilers minutes: use an array of the graph, or workgroup memory",
            spec.name
        );
        return Err(Error::argument("kernel", message));
    }
    Ok(())
}

/// The largest sum of a kernel's private variables and those of one function.
fn private_bytes(module: &naga::Module) -> u64 {
    let size = |ty| module.types[ty].inner.try_size(module.to_ctx()).map_or(u64::from(u32::MAX), u64::from);
    let private = |variable: &naga::GlobalVariable| variable.space == naga::AddressSpace::Private;
    let global: u64 =
        module.global_variables.iter().filter(|(_, v)| private(v)).map(|(_, v)| size(v.ty)).sum();
    let functions =
        module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
    let local = functions.map(|f| f.local_variables.iter().map(|(_, v)| size(v.ty)).sum::<u64>());
    global.saturating_add(local.max().unwrap_or(0))
}

/// A message with the line of the user's text that it is about.
fn shown(
    spec: &CustomKernel,
    [header, body]: [usize; 2],
    message: &str,
    place: Option<naga::SourceLocation>,
) -> String {
    let Some(place) = place else { return format!("is not valid: {message}") };
    let line = place.line_number as usize;
    let (what, text, first) =
        if line > body { ("", &spec.body, body) } else { (" of its header", &spec.header, header) };
    let (number, column) = (line.saturating_sub(first), place.line_position as usize);
    let Some(shown) = number.checked_sub(1).and_then(|n| text.lines().nth(n)) else {
        return format!("is not valid: {message}");
    };
    let indent = " ".repeat(number.to_string().len());
    let width = (place.length as usize).clamp(1, shown.len().saturating_sub(column - 1).max(1));
    let (blank, mark) = (" ".repeat(column.saturating_sub(1)), "^".repeat(width));
    format!(
        "is not valid, line {number}, column {column}{what}: {message}\n{indent} |\n{number} | {shown}\n\
         {indent} | {blank}{mark}"
    )
}
