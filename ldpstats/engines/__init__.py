"""Tables that stay where they are, and are asked: Parquet files, databases, Spark, lazy frames."""
