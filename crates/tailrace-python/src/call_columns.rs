//! Calls as columns of Arrow.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, Int32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, UInt64Array,
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

fn item(of: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(of, false))
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
        Field::new("peers", DataType::List(item(DataType::Int32)), false),
        Field::new("window", DataType::Int32, true),
        Field::new("exclusive", DataType::Boolean, true),
        Field::new("request", DataType::UInt64, true),
        Field::new("completes", DataType::List(item(DataType::UInt64)), false),
        Field::new("acts_on", DataType::List(item(DataType::UInt64)), false),
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
    peers: Lists<Int32Type>,
    window: Vec<Option<i32>>,
    exclusive: Vec<Option<bool>>,
    request: Vec<Option<u64>>,
    completes: Lists<UInt64Type>,
    acts_on: Lists<UInt64Type>,
}

/// A list a row.
struct Lists<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    lengths: Vec<usize>,
}

impl<T: ArrowPrimitiveType> Default for Lists<T> {
    fn default() -> Self {
        Self { values: Vec::new(), lengths: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType> Lists<T> {
    fn push(&mut self, values: impl ExactSizeIterator<Item = T::Native>) {
        self.lengths.push(values.len());
        self.values.extend(values);
    }

    fn array(&self) -> ListArray {
        let values = PrimitiveBuilder::<T>::new();
        let mut lists = ListBuilder::new(values).with_field(item(T::DATA_TYPE));
        let mut rest = self.values.as_slice();
        for length in &self.lengths {
            let (list, later) = rest.split_at(*length);
            lists.append_value(list.iter().copied().map(Some));
            rest = later;
        }
        lists.finish()
    }
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
        self.peers.push(call.peers.iter().copied().map(number));
        self.window.push(call.window.map(number));
        self.exclusive.push(call.exclusive);
        self.request.push(call.request);
        self.completes.push(call.completes.iter().copied());
        self.acts_on.push(call.acts_on.iter().copied());
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
            Arc::new(rows.peers.array()),
            known(rows.window),
            Arc::new(BooleanArray::from(rows.exclusive)),
            Arc::new(UInt64Array::from(rows.request)),
            Arc::new(rows.completes.array()),
            Arc::new(rows.acts_on.array()),
        ];
        RecordBatch::try_new(schema(), columns)
    }
}
