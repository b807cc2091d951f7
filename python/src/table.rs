//! Tables: columns in Arrow's memory layout, exported through Arrow's C interface without copying.

use crate::refuse;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, StringBuilder, StringDictionaryBuilder, UInt64Builder,
};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
pub(crate) use firstflight_lab::measures::Holds;
use firstflight_lab::measures::{self, Cell, Measure};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::sync::Arc;

/// The type of a column; every column may be null.
fn data_type(holds: Holds) -> DataType {
    match holds {
        Holds::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Holds::Whole => DataType::UInt64,
        Holds::Real => DataType::Float64,
        Holds::Flag => DataType::Boolean,
        // The rest is text: records and several values have no column.
        _ => DataType::Utf8,
    }
}

/// A column builder.
pub(crate) enum Column {
    /// Text.
    Text(StringBuilder),
    /// Text with few distinct values.
    Name(StringDictionaryBuilder<Int32Type>),
    /// A whole number.
    Whole(UInt64Builder),
    /// A number.
    Real(Float64Builder),
    /// A boolean.
    Flag(BooleanBuilder),
}

impl Column {
    /// Creates an empty column.
    pub(crate) fn new(holds: Holds) -> Column {
        match holds {
            Holds::Name => Column::Name(StringDictionaryBuilder::new()),
            Holds::Whole => Column::Whole(UInt64Builder::new()),
            Holds::Real => Column::Real(Float64Builder::new()),
            Holds::Flag => Column::Flag(BooleanBuilder::new()),
            _ => Column::Text(StringBuilder::new()),
        }
    }

    /// Appends text; does nothing in a column of another type.
    pub(crate) fn text(&mut self, text: Option<&str>) {
        match self {
            Column::Text(column) => column.append_option(text),
            Column::Name(column) => column.append_option(text),
            _ => self.missing(),
        }
    }

    /// Appends a whole number.
    pub(crate) fn whole(&mut self, number: Option<u64>) {
        match self {
            Column::Whole(column) => column.append_option(number),
            _ => self.missing(),
        }
    }

    /// Appends a number.
    pub(crate) fn real(&mut self, number: Option<f64>) {
        match self {
            Column::Real(column) => column.append_option(number),
            _ => self.missing(),
        }
    }

    /// Appends a boolean.
    pub(crate) fn flag(&mut self, flag: Option<bool>) {
        match self {
            Column::Flag(column) => column.append_option(flag),
            _ => self.missing(),
        }
    }

    /// Appends the value of a measure.
    pub(crate) fn cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Missing => self.missing(),
            Cell::Text(text) => self.text(Some(&text)),
            Cell::Whole(number) => self.whole(u64::try_from(number).ok()),
            Cell::Real(number) => self.real(Some(number)),
            Cell::Flag(flag) => self.flag(Some(flag)),
        }
    }

    /// Appends a null.
    pub(crate) fn missing(&mut self) {
        match self {
            Column::Text(column) => column.append_null(),
            Column::Name(column) => column.append_null(),
            Column::Whole(column) => column.append_null(),
            Column::Real(column) => column.append_null(),
            Column::Flag(column) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Text(column) => Arc::new(column.finish()),
            Column::Name(column) => Arc::new(column.finish()),
            Column::Whole(column) => Arc::new(column.finish()),
            Column::Real(column) => Arc::new(column.finish()),
            Column::Flag(column) => Arc::new(column.finish()),
        }
    }
}

/// Builds rows as columns.
pub(crate) struct Growing {
    schema: SchemaRef,
    /// The columns, in order.
    pub columns: Vec<Column>,
}

impl Growing {
    /// Creates a table without rows.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Holds)>) -> Growing {
        let columns: Vec<(&str, Holds)> = columns.into_iter().collect();
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, holds)| Field::new(*name, data_type(*holds), true))
            .collect();
        Growing {
            schema: Arc::new(Schema::new(fields)),
            columns: columns.iter().map(|(_, holds)| Column::new(*holds)).collect(),
        }
    }

    /// Creates a table of these measures without rows.
    pub(crate) fn of(measures: &'static [Measure]) -> Growing {
        Growing::beside([], measures)
    }

    /// Creates the same table, preceded by additional columns.
    pub(crate) fn beside<'a>(
        own: impl IntoIterator<Item = (&'a str, Holds)>,
        measures: &'static [Measure],
    ) -> Growing {
        let own: Vec<(&str, Holds)> = own.into_iter().collect();
        let columns = measures::columns(measures);
        let of_measures = columns.iter().map(|column| (column.name.as_str(), column.measure.holds));
        Growing::new(own.into_iter().chain(of_measures))
    }

    /// Appends a row: the `own` cells, then those of a record.
    pub(crate) fn row<'a>(
        &mut self,
        own: impl IntoIterator<Item = Cell<'a>>,
        record: &impl measures::Field,
    ) {
        let mut columns = self.columns.iter_mut();
        let mut put = |cell: Cell<'_>| {
            if let Some(column) = columns.next() {
                column.cell(cell);
            }
        };
        own.into_iter().for_each(&mut put);
        record.each(&mut put);
    }

    /// Returns the rows as one batch and empties the columns.
    ///
    /// # Errors
    /// If the columns have different lengths.
    pub(crate) fn batch(&mut self) -> PyResult<RecordBatch> {
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|error| refuse(format!("table: {error}")))
    }

    /// Returns all rows.
    ///
    /// # Errors
    /// If the columns have different lengths.
    pub(crate) fn finish(mut self) -> PyResult<Batches> {
        let batch = self.batch()?;
        Ok(Batches { schema: self.schema, batches: vec![batch] })
    }
}

/// A column of JSON values: its name, its pointer in each object, and its type.
pub(crate) type Spec = (&'static str, &'static str, Holds);

/// A table of JSON objects. Values that a pointer does not find are null.
///
/// # Errors
/// Never for objects of the lab.
pub(crate) fn of_json(spec: &[Spec], rows: impl IntoIterator<Item = Value>) -> PyResult<Batches> {
    let mut table = Growing::new(spec.iter().map(|(name, _, holds)| (*name, *holds)));
    for row in rows {
        for ((_, pointer, holds), column) in spec.iter().zip(&mut table.columns) {
            let value = row.pointer(pointer).unwrap_or(&Value::Null);
            match holds {
                Holds::Whole => column.whole(value.as_u64()),
                Holds::Real => column.real(value.as_f64()),
                Holds::Flag => column.flag(value.as_bool()),
                _ => column.text(value.as_str()),
            }
        }
    }
    table.finish()
}

/// A table that is exported through Arrow's C interface. `firstflight.Table` wraps it.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// Creates a table of batches with one schema; at least one batch.
    pub fn of(batches: Vec<RecordBatch>) -> Option<Batches> {
        let schema = batches.first()?.schema();
        Some(Batches { schema, batches })
    }
}

#[pymethods]
impl Batches {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Concatenates tables; all must have the same columns.
    #[staticmethod]
    fn concat(parts: Vec<PyRef<'_, Batches>>) -> PyResult<Batches> {
        let batches: Vec<RecordBatch> =
            parts.iter().flat_map(|part| part.batches.iter().cloned()).collect();
        let schema = parts
            .first()
            .map(|part| part.schema.clone())
            .ok_or_else(|| refuse("no table to join".into()))?;
        if parts.iter().any(|part| part.schema != schema) {
            return Err(refuse("tables with different columns cannot be joined".into()));
        }
        Ok(Batches { schema, batches })
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to the producer whether to follow a wish for other types; nobody
        // here would gain by a cast.
        drop(requested_schema);
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(reader)),
            c"arrow_array_stream",
        )
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| refuse(format!("schema: {error}")))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The values of a column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let index = self.schema.index_of(name).map_err(|_| {
            let names = self.column_names();
            let near = firstflight_lab::nearest(name, names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            refuse(format!("no column `{name}`{near}; there are {}", names.join(", ")))
        })?;
        let mut values = Vec::with_capacity(self.__len__());
        for batch in &self.batches {
            push(py, batch.column(index), &mut values)?;
        }
        Ok(values)
    }
}

/// Appends the values of an array.
fn push<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    values: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    use arrow_array::{Array, TypedDictionaryArray};
    let any = |value: Bound<'py, PyAny>| value;
    for index in 0..array.len() {
        values.push(match array.data_type() {
            _ if array.is_null(index) => py.None().into_bound(py),
            DataType::Utf8 => {
                any(array.as_string::<i32>().value(index).into_pyobject(py)?.into_any())
            }
            DataType::UInt64 => {
                any(array.as_primitive::<UInt64Type>().value(index).into_pyobject(py)?.into_any())
            }
            DataType::Float64 => {
                any(array.as_primitive::<Float64Type>().value(index).into_pyobject(py)?.into_any())
            }
            DataType::Boolean => {
                any(array.as_boolean().value(index).into_pyobject(py)?.to_owned().into_any())
            }
            _ => {
                let names: Option<TypedDictionaryArray<'_, Int32Type, arrow_array::StringArray>> =
                    array.as_dictionary::<Int32Type>().downcast_dict();
                let key = array.as_dictionary::<Int32Type>().keys().value(index);
                match names {
                    Some(names) => {
                        any(names.values().value(key as usize).into_pyobject(py)?.into_any())
                    }
                    None => py.None().into_bound(py),
                }
            }
        });
    }
    Ok(())
}
