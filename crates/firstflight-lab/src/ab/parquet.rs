//! Rows as Parquet: columns compressed with zstd, names as dictionaries, one row group per block of
//! connections.
//!
//! Every column may be null, and is null where it does not apply. The metadata identify the test:
//! version, hash of the experiment and the experiment itself.

use super::Test;
use super::rows::{ConnectionRow, Row};
use crate::measures::{Cell, Column, Field, Holds, columns};
use firstflight_path::Error;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Version of the columns: their names and meanings.
pub const SCHEMA: &str = "1";

/// A growing file of rows.
pub struct Rows<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

fn bad(error: &ParquetError) -> Error {
    Error::new(format!("parquet: {error}"))
}

/// The known values.
fn known<T>(cells: &[Cell<'_>], read: impl Fn(&Cell<'_>) -> Option<T>) -> Vec<T> {
    cells.iter().filter_map(read).collect()
}

/// The type of a column.
fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match column.measure.holds {
        Holds::Whole => (Physical::INT64, ConvertedType::UINT_64),
        Holds::Real => (Physical::DOUBLE, ConvertedType::NONE),
        Holds::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        // Everything else is text: records and lists have no column.
        _ => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted)
        .build()
        .map(Arc::new)
}

impl<W: Write + Send> Rows<W> {
    /// Starts a file; the columns are those of [`ConnectionRow`].
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn new(test: &Test, shard: Option<(u64, u64)>, out: W) -> Result<Rows<W>, Error> {
        let fields = columns(ConnectionRow::MEASURES)
            .iter()
            .map(field)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| bad(&error))?;
        let schema = Type::group_type_builder("flow")
            .with_fields(fields)
            .build()
            .map_err(|error| bad(&error))?;
        let experiment = test.experiment();
        let entry = |key: &str, value: String| KeyValue::new(format!("firstflight.{key}"), value);
        let metadata = vec![
            entry("schema", SCHEMA.into()),
            entry("version", env!("CARGO_PKG_VERSION").into()),
            entry("experiment_hash", format!("{:016x}", experiment.hash())),
            entry("experiment", serde_json::to_string(&experiment).unwrap_or_default()),
            entry("shard", shard.map_or("1/1".into(), |(i, n)| format!("{i}/{n}"))),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("firstflight {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            .map_err(|error| bad(&error))?;
        Ok(Rows { file })
    }

    /// Appends rows as one group.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write(&mut self, test: &Test, rows: &[Row]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows: Vec<ConnectionRow<'_>> =
            rows.iter().map(|row| ConnectionRow::of((test, row))).collect();
        self.group(&rows).map_err(|error| bad(&error))
    }

    fn group(&mut self, rows: &[ConnectionRow<'_>]) -> Result<(), ParquetError> {
        let mut cells: Vec<Vec<Cell<'_>>> = Vec::new();
        for row in rows {
            let mut place = 0;
            row.each(&mut |cell| {
                if place == cells.len() {
                    cells.push(Vec::with_capacity(rows.len()));
                }
                cells[place].push(cell);
                place += 1;
            });
        }
        let mut cells = cells.iter();
        let mut group = self.file.next_row_group()?;
        while let Some(mut column) = group.next_column()? {
            let cells: &[Cell<'_>] = cells.next().map_or(&[], Vec::as_slice);
            let levels: Vec<i16> =
                cells.iter().map(|cell| i16::from(*cell != Cell::Missing)).collect();
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let values = known(cells, |cell| match cell {
                        Cell::Text(text) => Some(ByteArray::from(&**text)),
                        _ => None,
                    });
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let values = known(cells, |cell| match cell {
                        Cell::Whole(number) => Some(*number as i64),
                        _ => None,
                    });
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let values = known(cells, |cell| match cell {
                        Cell::Real(number) => Some(*number),
                        _ => None,
                    });
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    let values = known(cells, |cell| match cell {
                        Cell::Flag(flag) => Some(*flag),
                        _ => None,
                    });
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                _ => {
                    return Err(ParquetError::General("a column of a kind that no row has".into()));
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file and returns the writer.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(self) -> Result<W, Error> {
        self.file.into_inner().map_err(|error| bad(&error))
    }
}
