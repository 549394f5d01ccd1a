package serve

import (
	"net/http"

	"github.com/haftdev/haft/wire"
)

// inputRoutes are those for an input box: what a prompt can name, and what waits.
func (s *Server) inputRoutes() []route {
	return []route{
		answers(http.StatusOK, "GET", "/sessions/{id}/input", "What a prompt can name, what answers it, and which prompts wait; a session that is not running is resumed", s.getInput),
		answers(http.StatusOK, "GET", "/sessions/{id}/suggestions", "Files and folders that complete a mention; a session that is not running is resumed", s.getSuggestions, parameter{"query", "the mention as far as it is typed, without @"}),
	}
}

// getInput says what is around an input box.
func (s *Server) getInput(r *http.Request) (Input, error) {
	var reply wire.DescribeInputReply
	if err := s.ask(r, &wire.DescribeInput{}, &reply); err != nil {
		return Input{}, err
	}
	in := Input{Model: reply.Model, Effort: reply.Effort, Commands: []InputCommand{}, Models: []InputModel{}, Queued: []QueuedPrompt{}}
	for _, c := range reply.Commands {
		in.Commands = append(in.Commands, InputCommand{c.Name, c.Description, c.ArgumentHint})
	}
	for _, m := range reply.Models {
		in.Models = append(in.Models, InputModel{m.Value, m.ResolvedModel, m.DisplayName, m.Description, m.SupportedEffortLevels})
	}
	for _, q := range reply.Queued {
		in.Queued = append(in.Queued, QueuedPrompt(q))
	}
	return in, nil
}

// getSuggestions lists files that complete a mention.
func (s *Server) getSuggestions(r *http.Request) (Suggestions, error) {
	var reply wire.FileSuggestionsReply
	list := Suggestions{Paths: []string{}}
	if err := s.ask(r, &wire.FileSuggestions{Query: r.URL.Query().Get("query")}, &reply); err != nil {
		return list, err
	}
	for _, f := range reply.Suggestions {
		list.Paths = append(list.Paths, f.Path)
	}
	return list, nil
}

// ask asks the process that leads the session of a request.
func (s *Server) ask(r *http.Request, request wire.Request, reply any) error {
	w, err := s.watched(r)
	if err != nil {
		return err
	}
	defer w.release()
	return s.back.Call(r.Context(), w.id, request, reply)
}

// effortRequest is the request that changes the effort.
func effortRequest(effort string) *wire.SetEffort {
	if effort == usualEffort {
		effort = ""
	}
	return &wire.SetEffort{Effort: effort}
}

// usualEffort is the name of the effort that the provider chooses.
const usualEffort = "default"
