//! Rows as Parquet: columns compressed with zstd, names as dictionaries, one row group per block of
//! connections.
//!
//! Every column may be null, and is where something does not apply. The file says which test it
//! belongs to: version, hash of the experiment and the experiment itself stand in its metadata.

use super::Test;
use super::rows::{Kind, Row, Value, columns};
use crate::error::Bad;
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

/// A file of rows that grows.
pub struct Rows<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

fn bad(error: &ParquetError) -> Bad {
    Bad(format!("parquet: {error}"))
}

/// What a column holds; yes or no is a kind of its own.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Name,
    Whole,
    Real,
    Flag,
}

fn holds(value: &Value<'_>) -> Holds {
    match value {
        Value::Name(_) | Value::Missing(Kind::Name) => Holds::Name,
        Value::Whole(_) | Value::Missing(Kind::Whole) => Holds::Whole,
        Value::Real(_) | Value::Missing(Kind::Real) => Holds::Real,
        Value::Flag(_) => Holds::Flag,
    }
}

impl<W: Write + Send> Rows<W> {
    /// Begins a file; the columns are those of `row`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(test: &Test, row: &Row, shard: Option<(u64, u64)>, out: W) -> Result<Rows<W>, Bad> {
        let field = |(name, value): &(&'static str, Value<'_>)| {
            let (physical, converted) = match holds(value) {
                Holds::Name => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
                Holds::Whole => (Physical::INT64, ConvertedType::UINT_64),
                Holds::Real => (Physical::DOUBLE, ConvertedType::NONE),
                Holds::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
            };
            let built = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_converted_type(converted)
                .build();
            built.map(Arc::new)
        };
        let fields = columns(test, row)
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
    /// Those of the writer.
    pub fn write(&mut self, test: &Test, rows: &[Row]) -> Result<(), Bad> {
        let table: Vec<Vec<(&'static str, Value<'_>)>> =
            rows.iter().map(|row| columns(test, row)).collect();
        self.group(&table).map_err(|error| bad(&error))
    }

    fn group(&mut self, table: &[Vec<(&'static str, Value<'_>)>]) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut index = 0;
        while let Some(mut column) = group.next_column()? {
            let cells = || table.iter().map(|row| &row[index].1);
            let levels: Vec<i16> =
                cells().map(|value| i16::from(!matches!(value, Value::Missing(_)))).collect();
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let values: Vec<ByteArray> = cells()
                        .filter_map(|value| {
                            if let Value::Name(name) = value {
                                Some(ByteArray::from(*name))
                            } else {
                                None
                            }
                        })
                        .collect();
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let values: Vec<i64> = cells()
                        .filter_map(|value| {
                            if let Value::Whole(number) = value {
                                Some(*number as i64)
                            } else {
                                None
                            }
                        })
                        .collect();
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let values: Vec<f64> = cells()
                        .filter_map(|value| {
                            if let Value::Real(number) = value { Some(*number) } else { None }
                        })
                        .collect();
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    let values: Vec<bool> = cells()
                        .filter_map(
                            |value| if let Value::Flag(flag) = value { Some(*flag) } else { None },
                        )
                        .collect();
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                _ => {
                    return Err(ParquetError::General("a column of a kind that no row has".into()));
                }
            }
            column.close()?;
            index += 1;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file and gives back what it was written to.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(self) -> Result<W, Bad> {
        self.file.into_inner().map_err(|error| bad(&error))
    }
}
