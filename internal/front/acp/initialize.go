package acp

import (
	"encoding/json"
)

// setupMethods are the requests before there are sessions.
func (s *server) setupMethods() map[string]method {
	table := map[string]method{methodInitialize: ordered(s.initialize), methodAuthenticate: ordered(s.authenticate)}
	if s.opts.Logout != nil {
		table[methodLogout] = ordered(s.logout)
	}
	return table
}

// initialize agrees on a version and says what there is.
func (s *server) initialize(r *request) (any, error) {
	var p struct {
		ProtocolVersion *int            `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"clientCapabilities"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	if p.ProtocolVersion == nil {
		return nil, errorf(codeInvalidParams, "protocolVersion is missing.")
	}
	client := new(capabilities)
	_ = json.Unmarshal(p.Capabilities, client) // what cannot be read the client cannot do
	s.mu.Lock()
	s.client = client
	s.mu.Unlock()
	reply := initializeReply{
		ProtocolVersion: protocolVersion, AuthMethods: []authMethod{},
		Info: implementation{Name: "haft", Title: "haft", Version: s.opts.Version},
	}
	c := &reply.Capabilities
	c.LoadSession = true
	c.Prompt.Image, c.Prompt.EmbeddedContext = true, true
	c.MCP.HTTP, c.MCP.SSE = true, true
	c.Session = map[string]object{"list": {}, "delete": {}, "resume": {}, "close": {}, "fork": {}, "title": {}, "additionalDirectories": {}}
	if s.opts.Logout != nil {
		c.Auth = map[string]object{"logout": {}}
	}
	if s.configured() != nil {
		reply.AuthMethods = authMethods(client)
	}
	return reply, nil
}

func (s *server) configured() error {
	if s.opts.Configured == nil {
		return nil
	}
	return s.opts.Configured()
}

// setupMethod is the one that the client asks for, setupTerminal the one that it runs.
const (
	setupMethod   = "haft-setup"
	setupTerminal = "haft-setup-terminal"
)

// authMethods are how a user says which model answers, and with what key.
func authMethods(client *capabilities) []authMethod {
	var list []authMethod
	if client.Auth.Terminal {
		list = append(list, authMethod{Type: "terminal", ID: setupTerminal, Name: "Set up haft in a terminal",
			Description: "Opens haft, which asks for an API key or a model's address.", Args: []string{"--setup"}})
	}
	return append(list, authMethod{ID: setupMethod, Name: "Check the setup again",
		Description: "Run haft in a terminal once and enter an API key, or set ANTHROPIC_API_KEY in the editor's settings for haft; then choose this."})
}

// authenticate looks whether a model can be asked by now.
func (s *server) authenticate(r *request) (any, error) {
	var p struct {
		Method string `json:"methodId"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	if p.Method != setupMethod {
		return nil, errorf(codeInvalidParams, "There is no authentication method %q; use %q.", p.Method, setupMethod)
	}
	if err := s.configured(); err != nil {
		return nil, errorf(codeAuthRequired, "The setup is not complete: %v.", err)
	}
	return object{}, nil
}

// logout forgets the key that was saved. Sessions that are open keep it.
func (s *server) logout(*request) (any, error) {
	if err := s.opts.Logout(); err != nil {
		return nil, errorf(codeInternal, "Could not log out: %v.", err)
	}
	return object{}, nil
}
