package catalog

// A File is the form of models.json: what providers publish of their models, and when that was looked up. refresh.sh brings it
// up to date.
type File struct {
	Date    string            `json:"date"`
	Aliases map[string]string `json:"aliases"`
	Models  []Entry           `json:"models"`
}

// An Entry is what models.json says of a model.
type Entry struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Context   int      `json:"context"`
	MaxOutput int      `json:"max_output"`
	Thinking  Thinking `json:"thinking"`
	// Off is when thinking can be turned off; "" means always.
	Off Off `json:"thinking_off,omitempty"`
	// Binds tells that thoughts are good only in the conversation as it was.
	Binds bool `json:"binds_thinking,omitempty"`
	// Effort is the default level, Efforts those that the model takes.
	Effort  string   `json:"effort,omitempty"`
	Efforts []string `json:"efforts,omitempty"`
	Price   *Price   `json:"price,omitempty"`
	Long    *Price   `json:"long_price,omitempty"` // of questions with more than From tokens
}

// Off is when a model's thinking can be turned off.
type Off string

const (
	OffAlways Off = ""
	// OffBelowXhigh: unless the effort is xhigh or max.
	OffBelowXhigh Off = "unless-high-effort"
	OffNever      Off = "never"
)

// A catalogue is models.json as it is looked up. The file itself is not read: a start would spend a quarter of a
// millisecond on it. A test writes prepared.go from it.
type catalogue struct {
	aliases map[string]string
	models  map[string]Info // by canonical name
}
