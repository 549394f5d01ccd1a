package grammar

// A Peeled is what is left of a command that runs another one.
type Peeled struct {
	Words []Word // the command that is run
	Allow bool   // an allow rule may look through the wrapper
	Exact bool   // every flag of the wrapper was understood
}
