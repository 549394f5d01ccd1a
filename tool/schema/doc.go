// Package schema is the shape of a tool's input: one Go struct from which both
// the JSON Schema that the model reads and the validation that the harness runs
// are derived, so that the two cannot drift.
//
//	type Input struct {
//		FilePath string `json:"file_path" jsonschema:"Absolute path of the file." haft:"alias=path"`
//		Limit    int    `json:"limit,omitempty" jsonschema:"Lines to read." haft:"min=1;max=2000"`
//	}
//
//	view := schema.Of[Input]().View(nil)
//	view.JSON()                       // what the model sees
//	fixed, repairs, err := view.Check(raw) // what the harness enforces
//
// A field is optional when its json tag says omitempty or omitzero. The
// jsonschema tag is the description; the haft tag holds everything else, as
// directives separated by semicolons:
//
//	min=N max=N   bounds: of a number, of a string's length in characters, of an array's length
//	enum=a|b|c    the values allowed; enum=@name takes them from the session's list of that name
//	default=V     the value that absence means (shown to the model, not inserted)
//	example=V     the value an error message shows for the field
//	alias=a|b     older names of the field, accepted and renamed
//	hidden        known to the harness only: not in the schema, refused from a model
//	ignored       not in the schema; dropped, and disclosed, if a model sends it all the same
//	when=FLAG     the field exists only in sessions that have the flag
//	pattern=RE    what a string must match; it takes the rest of the tag, so it comes last
//
// A type that has several JSON forms implements [Union]. A foreign schema, from
// an MCP server for example, enters through [Parse] and is checked by the same code.
//
// Values are repaired only if the schema permits it: only invalid values are considered, a
// repair is kept only if the repaired value is valid, and every repair is reported.
//
// Schemas and views are immutable and safe for concurrent use.
package schema
