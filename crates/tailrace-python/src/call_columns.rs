//! Calls as columns of Arrow.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use tailrace_trace::Tables;
use tailrace_trace::calls::Call;
use tailrace_trace::error::escape_controls;

use crate::tables::LAYER_NAMES;

/// The texts that columns point into, the same in every batch.
pub(crate) struct Names {
    functions: Arc<StringArray>,
    layers: Arc<StringArray>,
    files: Arc<StringArray>,
}

impl Names {
    pub(crate) fn new(tables: &Tables) -> Self {
        let functions = tables.functions.iter().map(|function| escape_controls(&function.name));
        let path = |path: &[u8]| escape_controls(&String::from_utf8_lossy(path));
        Self {
            functions: Arc::new(functions.map(Some).collect()),
            layers: Arc::new(LAYER_NAMES.iter().copied().map(Some).collect()),
            files: Arc::new(tables.files.iter().map(|file| Some(path(&file.path))).collect()),
        }
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::UInt64, false))
}

pub(crate) fn schema() -> Arc<Schema> {
    let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("rank", DataType::Int32, false),
        Field::new("thread", DataType::Int32, false),
        Field::new("function", text(), false),
        Field::new("layer", text(), false),
        Field::new("depth", DataType::Int32, false),
        Field::new("begin_ns", DataType::Int64, false),
        Field::new("duration_ns", DataType::Int64, false),
        Field::new("file", text(), true),
        Field::new("offset", DataType::Int64, true),
        Field::new("bytes", DataType::UInt64, true),
        Field::new("peer", DataType::Int32, true),
        Field::new("tag", DataType::Int32, true),
        Field::new("source", DataType::Int32, true),
        Field::new("source_tag", DataType::Int32, true),
        Field::new("communicator", DataType::Int32, true),
        Field::new("request", DataType::UInt64, true),
        Field::new("completes", DataType::List(item()), false),
    ]))
}

/// The rows of one batch in the making.
#[derive(Default)]
pub(crate) struct CallColumns {
    rank: Vec<i32>,
    thread: Vec<i32>,
    function: Vec<i32>,
    layer: Vec<i32>,
    depth: Vec<i32>,
    begin_ns: Vec<i64>,
    duration_ns: Vec<i64>,
    file: Vec<Option<i32>>,
    offset: Vec<Option<i64>>,
    bytes: Vec<Option<u64>>,
    peer: Vec<Option<i32>>,
    tag: Vec<Option<i32>>,
    source: Vec<Option<i32>>,
    source_tag: Vec<Option<i32>>,
    communicator: Vec<Option<i32>>,
    request: Vec<Option<u64>>,
    completes: Vec<u64>,
    /// By row: how many it completes.
    completed: Vec<usize>,
}

impl CallColumns {
    pub(crate) fn len(&self) -> usize {
        self.rank.len()
    }

    pub(crate) fn push(&mut self, tables: &Tables, call: &Call) {
        let location = &tables.locations[call.location as usize];
        let origin = tables.window.map_or(0, |window| window.begin_ns);
        // ranks, files and communicators are fewer than 2^31
        let number = |value: u32| value as i32;
        self.rank.push(number(location.rank));
        self.thread.push(number(location.thread));
        self.function.push(i32::from(call.function));
        self.layer.push(tables.functions[usize::from(call.function)].layer as i32);
        self.depth.push(number(call.depth));
        self.begin_ns.push(call.begin_ns - origin);
        self.duration_ns.push(call.end_ns - call.begin_ns);
        self.file.push(call.file.map(number));
        self.offset.push(call.offset);
        self.bytes.push(call.bytes);
        self.peer.push(call.peer.map(number));
        self.tag.push(call.tag);
        self.source.push(call.source.map(number));
        self.source_tag.push(call.source_tag);
        self.communicator.push(call.communicator.map(number));
        self.request.push(call.request);
        self.completes.extend(&call.completes);
        self.completed.push(call.completes.len());
    }

    /// The rows so far; none are left.
    pub(crate) fn batch(&mut self, names: &Names) -> Result<RecordBatch, ArrowError> {
        let rows = std::mem::take(self);
        let numbers = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
        let known = |values: Vec<Option<i32>>| Arc::new(Int32Array::from(values)) as ArrayRef;
        let text = |keys: Int32Array, values: &Arc<StringArray>| {
            let array = DictionaryArray::<Int32Type>::try_new(keys, values.clone())?;
            Ok::<_, ArrowError>(Arc::new(array) as ArrayRef)
        };
        let columns = vec![
            numbers(rows.rank),
            numbers(rows.thread),
            text(rows.function.into(), &names.functions)?,
            text(rows.layer.into(), &names.layers)?,
            numbers(rows.depth),
            Arc::new(Int64Array::from(rows.begin_ns)),
            Arc::new(Int64Array::from(rows.duration_ns)),
            text(rows.file.into(), &names.files)?,
            Arc::new(Int64Array::from(rows.offset)),
            Arc::new(UInt64Array::from(rows.bytes)),
            known(rows.peer),
            known(rows.tag),
            known(rows.source),
            known(rows.source_tag),
            known(rows.communicator),
            Arc::new(UInt64Array::from(rows.request)),
            Arc::new(lists(&rows.completes, &rows.completed)),
        ];
        RecordBatch::try_new(schema(), columns)
    }
}

/// The values, cut into lists of these lengths.
fn lists(values: &[u64], lengths: &[usize]) -> ListArray {
    let mut lists = ListBuilder::new(UInt64Builder::new()).with_field(item());
    let mut rest = values;
    for length in lengths {
        let (list, later) = rest.split_at(*length);
        lists.append_value(list.iter().copied().map(Some));
        rest = later;
    }
    lists.finish()
}
