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

// Find looks for the facts of a call. Before are those of the input that this one replaces;
// nil if there was none.
func (t *Tool) Find(c *Call, before *Facts) *Facts {
	f := &Facts{Dir: c.Dir}
	if t == nil {
		return f
	}
	if t.Analyze != nil {
		f.Analysis = t.Analyze(c, before)
		at := *c
		at.Facts = f // so that the rest follows from the analysis
		c = &at
	}
	f.Marks, f.Paths = t.marks(c), t.paths(c)
	if t.Command != nil {
		f.Command = t.Command(c)
	}
	if t.Address != nil {
		f.Address = t.Address(c)
	}
	if t.Classify != nil {
		f.Classifier = t.Classify(c)
	}
	return f
}

// FactsOf returns the facts of a call, which are found now if nobody has yet.
func (t *Tool) FactsOf(c *Call) *Facts {
	if c.Facts != nil {
		return c.Facts
	}
	return t.Find(c, nil)
}

// MarksOf returns how the call behaves, assuming the worst where the tool does not say.
func (t *Tool) MarksOf(c *Call) Marks {
	if c != nil && c.Facts != nil {
		return c.Facts.Marks
	}
	return t.marks(c)
}

func (t *Tool) marks(c *Call) Marks {
	if t == nil || t.Marks == nil {
		return Marks{}
	}
	return t.Marks(c)
}

// PathsOf returns what the call would touch; nothing if the tool does not say.
func (t *Tool) PathsOf(c *Call) Paths {
	if c.Facts != nil {
		return c.Facts.Paths
	}
	return t.paths(c)
}

func (t *Tool) paths(c *Call) Paths {
	if t == nil || t.Paths == nil {
		return Paths{}
	}
	return t.Paths(c)
}
