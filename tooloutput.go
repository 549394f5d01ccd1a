package haft

// The structured outputs of the built-in tools; see OutputOf. Optional fields that a
// command line does not send are zero.

// BashOutput is the output of Bash.
type BashOutput struct {
	Stdout                   string `json:"stdout"`
	Stderr                   string `json:"stderr"`
	Interrupted              bool   `json:"interrupted"`
	IsImage                  bool   `json:"isImage"`
	NoOutputExpected         bool   `json:"noOutputExpected"`
	BackgroundTaskID         string `json:"backgroundTaskId"`
	TimedOutAfterMS          int    `json:"timedOutAfterMs"`
	ReturnCodeInterpretation string `json:"returnCodeInterpretation"`
	PersistedOutputPath      string `json:"persistedOutputPath"`
	PersistedOutputSize      int64  `json:"persistedOutputSize"`
}

// ReadOutput is the output of Read.
type ReadOutput struct {
	// Type is text, image, pdf, notebook or parts.
	Type string   `json:"type"`
	File ReadFile `json:"file"`
}

// ReadFile is what Read found.
type ReadFile struct {
	FilePath            string `json:"filePath"`
	Content             string `json:"content"`
	NumLines            int    `json:"numLines"`
	StartLine           int    `json:"startLine"`
	TotalLines          int    `json:"totalLines"`
	TruncatedByTokenCap bool   `json:"truncatedByTokenCap"`
	// Base64 and the following fields are set for images and PDFs.
	Base64       string `json:"base64"`
	MediaType    string `json:"type"`
	OriginalSize int64  `json:"originalSize"`
}

// EditOutput is the output of Edit.
type EditOutput struct {
	FilePath        string      `json:"filePath"`
	OldString       string      `json:"oldString"`
	NewString       string      `json:"newString"`
	OriginalFile    string      `json:"originalFile"`
	StructuredPatch []PatchHunk `json:"structuredPatch"`
	UserModified    bool        `json:"userModified"`
	ReplaceAll      bool        `json:"replaceAll"`
	StaleRecovered  bool        `json:"staleRecovered"`
}

// WriteOutput is the output of Write.
type WriteOutput struct {
	// Type is create or update.
	Type            string      `json:"type"`
	FilePath        string      `json:"filePath"`
	Content         string      `json:"content"`
	StructuredPatch []PatchHunk `json:"structuredPatch"`
	// OriginalFile is nil for a file that is new.
	OriginalFile *string `json:"originalFile"`
	UserModified bool    `json:"userModified"`
}

// A PatchHunk is one place where a file changed.
type PatchHunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// GlobOutput is the output of Glob.
type GlobOutput struct {
	Filenames  []string `json:"filenames"`
	DurationMS float64  `json:"durationMs"`
	NumFiles   int      `json:"numFiles"`
	Truncated  bool     `json:"truncated"`
}

// GrepOutput is the output of Grep.
type GrepOutput struct {
	// Mode is content, files_with_matches or count.
	Mode       string   `json:"mode"`
	NumFiles   int      `json:"numFiles"`
	Filenames  []string `json:"filenames"`
	Content    string   `json:"content"`
	NumLines   int      `json:"numLines"`
	NumMatches int      `json:"numMatches"`
}

// WebFetchOutput is the output of WebFetch.
type WebFetchOutput struct {
	URL        string  `json:"url"`
	Code       int     `json:"code"`
	CodeText   string  `json:"codeText"`
	Bytes      int64   `json:"bytes"`
	Result     string  `json:"result"`
	DurationMS float64 `json:"durationMs"`
}

// AgentOutput is the output of Agent.
type AgentOutput struct {
	// Status is completed, or async_launched for one in the background.
	Status            string         `json:"status"`
	AgentID           string         `json:"agentId"`
	AgentType         string         `json:"agentType"`
	Prompt            string         `json:"prompt"`
	Content           []AgentContent `json:"content"`
	TotalToolUseCount int            `json:"totalToolUseCount"`
	TotalDurationMS   float64        `json:"totalDurationMs"`
	TotalTokens       int            `json:"totalTokens"`
	OutputFile        string         `json:"outputFile"`
}

// AgentContent is a piece of what a sub-agent answered.
type AgentContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// TodoOutput is the output of TodoWrite.
type TodoOutput struct {
	OldTodos []Todo `json:"oldTodos"`
	NewTodos []Todo `json:"newTodos"`
}

// A Todo is an item of the model's plan.
type Todo struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
}
