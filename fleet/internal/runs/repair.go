package runs

// Repaired is what [Runs.Repair] did.
type Repaired struct {
	Runs  int      `json:"runs"`            // that are there
	Made  []string `json:"made,omitempty"`  // again, from what was kept with their prompts
	Aside []string `json:"aside,omitempty"` // quarantined, because it is not known how they were submitted
	Tasks int      `json:"tasks"`           // that were missing

	open []*Run
}
