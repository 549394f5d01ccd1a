package tool

// Facts are what is known of a call before it runs, from its input and its directory. The
// scheduler finds them once for both. The code that places, judges, records, previews and
// runs the call reads this one value, so that no two of them can disagree about it.
type Facts struct {
	// Dir is the directory in which they hold; "" if none was known.
	Dir   string
	Marks Marks
	Paths Paths
	// Command is the shell command that would run, and Analysis what it would do, as
	// [Tool.Analyze] says; "" and nil for none.
	Command  string
	Analysis any
	// Address is the URL that would be fetched; "" for none.
	Address string
	// Classifier is what an automatic classifier sees; "" means that it never approves.
	Classifier string
}
