//! Where elements lie in a file: what an array that is read when it is needed knows of itself.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::array::{Dtype, Shape};

/// Row-major elements in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The file's path, as it was opened.
    pub path: String,
    /// The array's name in the file; empty if it has none.
    pub member: String,
    /// The first byte.
    pub offset: u64,
    /// The size that the file had when it was opened.
    pub size: u64,
    /// Shape of the array.
    pub shape: Shape,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Whether the bytes of each number come in the other order.
    pub foreign_order: bool,
    /// The file, opened; a file that has taken its place meanwhile is not read.
    #[serde(skip)]
    pub(crate) file: OpenFile,
}

/// A file that this process holds open. Operations are data: two that read the same place of the same path are equal,
/// whatever holds the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenFile(pub Option<Arc<File>>);

impl PartialEq for OpenFile {
    fn eq(&self, _: &OpenFile) -> bool {
        true
    }
}

impl Eq for OpenFile {}

impl Hash for OpenFile {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
