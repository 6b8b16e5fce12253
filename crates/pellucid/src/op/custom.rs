//! Kernels of the user: what [`Op::Custom`](super::Op::Custom) computes, and the text that a GPU compiles.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::HostVersion;
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// Workgroups that every GPU can run in one direction.
const MOST_GROUPS: u32 = 65_535;
/// Invocations of a workgroup that every GPU can run.
const MOST_INVOCATIONS: u32 = 256;

/// A kernel of the user, with where it is launched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CustomKernel {
    /// What it is called.
    pub name: String,
    /// WGSL before the kernel: functions, constants.
    pub header: String,
    /// WGSL of the kernel: statements.
    pub body: String,
    /// The kernel in Metal's own language, used instead where it can be.
    pub msl: Option<String>,
    /// Arrays it reads.
    pub inputs: Vec<Port>,
    /// Arrays it writes, each with its shape.
    pub outputs: Vec<(Port, Shape)>,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Invocations in all.
    pub grid: [u32; 3],
    /// What it does on the host. It belongs to this process.
    #[serde(skip)]
    pub host: HostVersion,
}

/// An array as a kernel of the user sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Port {
    /// Its name in the text.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
}

impl CustomKernel {
    /// What a GPU declares an array of this type as an array of; `None` for types that WGSL has no name for.
    pub(crate) fn element(dtype: Dtype) -> Option<&'static str> {
        match dtype {
            Dtype::Float32 => Some("f32"),
            Dtype::Float16 => Some("f16"),
            Dtype::Int32 => Some("i32"),
            Dtype::Uint32 => Some("u32"),
            Dtype::Int64 => Some("i64"),
            Dtype::Uint64 => Some("u64"),
            Dtype::Complex64 => Some("vec2<f32>"),
            _ => None,
        }
    }

    /// Whether the kernel has a version for the host, without which it runs on GPUs only. A trace does not carry it.
    pub fn has_host_version(&self) -> bool {
        self.host.is_some()
    }

    /// A kernel from a file with the version for the host that its twin in this process has, if there is one: the same
    /// text with the same arrays.
    pub fn linked(&self) -> CustomKernel {
        CustomKernel { host: HostVersion::recall(self.identity()), ..self.clone() }
    }

    /// Notes the version for the host, for [`linked`](CustomKernel::linked).
    pub(crate) fn note_host_version(&self) {
        self.host.note(self.identity());
    }

    /// What a file has of a kernel wherever it is called.
    fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let ports: Vec<&Port> = self.ports().collect();
        (&self.name, &self.header, &self.body, ports).hash(&mut hasher);
        hasher.finish()
    }

    fn ports(&self) -> impl Iterator<Item = &Port> {
        self.outputs.iter().map(|(port, _)| port).chain(&self.inputs)
    }

    /// Checks everything but the text.
    pub(crate) fn check(&self) -> Result<()> {
        let fail = |message: String| Error::argument("kernel", format!("kernel {:?}: {message}", self.name));
        if self.outputs.is_empty() {
            return Err(fail("it has no output".to_owned()));
        }
        for (i, port) in self.ports().enumerate() {
            if !is_identifier(&port.name) {
                return Err(fail(format!("{:?} is not a name that WGSL accepts", port.name)));
            }
            if CustomKernel::element(port.dtype).is_none() {
                let (name, dtype) = (&port.name, port.dtype);
                return Err(Error::dtype(
                    "kernel",
                    format!("kernel {:?}: WGSL has no type for {name} of {dtype}; use astype", self.name),
                ));
            }
            if self.ports().take(i).any(|other| other.name == port.name) {
                return Err(fail(format!("two arrays are called {}", port.name)));
            }
        }
        let invocations = self.workgroup.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
        if !invocations.is_some_and(|n| (1..=MOST_INVOCATIONS).contains(&n)) {
            return Err(fail(format!(
                "a workgroup of {:?} has not between 1 and {MOST_INVOCATIONS} invocations",
                self.workgroup
            )));
        }
        if self.groups().iter().any(|&n| n > MOST_GROUPS) {
            return Err(fail(format!(
                "a grid of {:?} needs {:?} workgroups; at most {MOST_GROUPS} fit in each direction",
                self.grid,
                self.groups()
            )));
        }
        for (port, shape) in &self.outputs {
            shape.check("kernel", port.dtype.size())?;
        }
        Ok(())
    }

    /// Workgroups of the launch.
    pub(crate) fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.grid[i].div_ceil(self.workgroup[i].max(1)))
    }

    /// The whole text, and the number of its lines before the user's header and before the body. `shared`: inputs may
    /// lie in the memory object of the outputs, which then must be writable in all bindings.
    pub(crate) fn wgsl(&self, shared: bool, shapes: &[&[usize]]) -> (String, [usize; 2]) {
        let mut text = String::new();
        if self.ports().any(|port| port.dtype == Dtype::Float16) {
            text.push_str("enable f16;\n");
        }
        let access = if shared { "read_write" } else { "read" };
        let accesses = self.outputs.iter().map(|_| "read_write").chain(self.inputs.iter().map(|_| access));
        let all = self.outputs.iter().map(|(_, shape)| &shape[..]).chain(shapes.iter().copied());
        for (binding, ((port, access), shape)) in self.ports().zip(accesses).zip(all).enumerate() {
            let (name, element) = (&port.name, CustomKernel::element(port.dtype).unwrap_or("u32"));
            let _ = writeln!(
                text,
                "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
            );
            let known = format!("{name}_shape");
            if !shape.is_empty() && (self.body.contains(&known) || self.header.contains(&known)) {
                let sizes: Vec<String> = shape.iter().map(|d| format!("{d}u")).collect();
                let _ = writeln!(text, "const {known} = array<u32, {}>({});", shape.len(), sizes.join(", "));
            }
        }
        let before_header = text.lines().count();
        let _ = writeln!(text, "{}", self.header);
        let [x, y, z] = self.workgroup;
        let _ = write!(
            text,
            "@compute @workgroup_size({x}, {y}, {z})\n\
             fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, \
             @builtin(workgroup_id) group: vec3<u32>) {{\n"
        );
        let before_body = text.lines().count();
        let _ = writeln!(text, "{}\n}}", self.body);
        (text, [before_header, before_body])
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= 64
        && !["id", "local", "group", "main"].contains(&name)
}
