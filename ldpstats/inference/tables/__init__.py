"""Tables of two or three variables: tests of independence, and effects."""
