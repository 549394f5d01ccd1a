package session

// AgentMeta is what a session stores about a sub-agent beside its journal, where the
// official tools look for the call that it belongs to.
type AgentMeta struct {
	Type        string `json:"agentType"`
	Description string `json:"description"`
	// UseID is the call that the agent works for, Parent the agent that made it; "" is the
	// main conversation.
	UseID  string `json:"toolUseId"`
	Parent string `json:"parentAgentId,omitempty"`
	Depth  int    `json:"spawnDepth"`
}
