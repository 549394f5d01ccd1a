package project

// A PreviewMode says what becomes of commands that the rules leave open.
type PreviewMode string

const (
	// PreviewOff asks about the command.
	PreviewOff PreviewMode = "off"
	// PreviewAsk runs it where its changes do not count, and asks about these.
	PreviewAsk PreviewMode = "ask"
	// PreviewAuto runs it there, makes the changes that the rules allow, and drops the
	// others.
	PreviewAuto PreviewMode = "auto"
)
