package code

// A language is what is coloured in it.
type language struct {
	names    string // with spaces around each, as words
	words    string
	comments []string // that end with the line
	spans    []span   // that may take several lines
	quotes   string   // of strings that end with the line
	fold     bool     // words may be in capitals
	diff     bool
}

type span struct {
	begin, end string
	comment    bool
}

var (
	slashes = []string{"//"}
	hash    = []string{"#"}
	block   = span{"/*", "*/", true}
)
