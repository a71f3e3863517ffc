"""Two or more privatised variables: their joint table, and whether they are associated."""
