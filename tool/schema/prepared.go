package schema

// A Prepared is the JSON of an input's schema, derived when the program was built. Otherwise a
// program with many tools would spend much of its start-up time on deriving schemas that are
// only sent.
type Prepared struct {
	// Package and Type are those of the type, as package reflect has them.
	Package, Type string
	// Flags are those of a session that the shape depends on, sorted.
	Flags []string
	// JSON has a schema for each way in which the flags can be set: bit i of the index says that Flags[i] is on.
	JSON []string
}
