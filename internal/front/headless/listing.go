package headless

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/wire"
)

// listingRequests ask what is configured.
func listingRequests(q *requests) []row {
	return []row{with(q, listSettings), about(q, listRules), with(q, explain), with(q, listHooks)}
}

// sourceNames are the sources of settings as the wire spells them.
var sourceNames = map[settings.Source]string{
	settings.Managed: "policySettings", settings.Session: "session", settings.Flag: "flagSettings",
	settings.Local: "localSettings", settings.Project: "projectSettings", settings.User: "userSettings",
}

// listSettings lists the settings in effect, of each file and of all together.
func listSettings(_ context.Context, q *requests, talk *harness.Conversation, _ *wire.GetSettings) (any, error) {
	reply := wire.GetSettingsReply{Effective: make(map[string]json.RawMessage)}
	for _, f := range slices.Backward(talk.World.Project.Counts.Files()) {
		value, ok := f.Value()
		if !ok {
			continue
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(value.JSON, &keys) != nil {
			continue
		}
		if q.opts.Guest {
			maps.DeleteFunc(keys, func(key string, _ json.RawMessage) bool { return !guestSees[key] })
			value.JSON = mustJSON(keys)
		}
		for key, v := range keys {
			reply.Effective[key] = joined(reply.Effective[key], v)
		}
		reply.Sources = append(reply.Sources, wire.SourceSettings{Source: sourceNames[f.Source], Settings: value.JSON})
	}
	reply.Applied.Model = talk.Agent.ContextUsage().Model
	return reply, nil
}

// joined is what two files say about one key: lists and objects are joined; of other
// values, the second takes precedence.
func joined(below, above json.RawMessage) json.RawMessage {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(below, &a) == nil && json.Unmarshal(above, &b) == nil && a != nil {
		for key, v := range b {
			a[key] = joined(a[key], v)
		}
		return mustJSON(a)
	}
	var x, y []json.RawMessage
	if json.Unmarshal(below, &x) == nil && json.Unmarshal(above, &y) == nil && x != nil {
		return mustJSON(append(x, y...))
	}
	return above
}

// listRules lists the permission rules that hold.
func listRules(_ context.Context, talk *harness.Conversation, _ *wire.ListPermissionRules) (any, error) {
	opts, err := talk.World.Project.Policy()
	if err != nil {
		return nil, err
	}
	guard := talk.World.Engine.Guard()
	state := wire.PermissionRulesState{WorkspaceDirectories: guard.Roots()[1:], OriginalCwd: guard.Cwd()}
	for _, r := range opts.Rules {
		listed := wire.ListedRule{Behavior: r.Behavior.String(), Rule: visible.Indented(r.Text), Source: sourceNames[r.Origin.Source], Editability: "persistent"}
		switch r.Origin.Source {
		case settings.Managed:
			listed.Editability = "readonly"
		case settings.Flag, settings.Session:
			listed.Editability = "session"
		}
		state.Rules = append(state.Rules, listed)
	}
	return wire.ListPermissionRulesReply{State: state}, nil
}

// explain says what would be decided about a call. What is noted about hooks is not for a guest.
func explain(ctx context.Context, q *requests, talk *harness.Conversation, r *wire.ExplainCall) (any, error) {
	input := r.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	e, err := talk.Explain(ctx, r.ToolName, input)
	if err != nil {
		return nil, err
	}
	reply := wire.ExplainCallReply{Behavior: e.Behavior.String(), Reason: cmp.Or(e.Reason, e.Message), ReadOnly: e.ReadOnly, Rule: e.Rule, Origin: e.Origin}
	for _, suggestion := range e.Suggestions {
		reply.Suggestions = append(reply.Suggestions, suggestion.Rule)
	}
	if !q.opts.Guest {
		reply.Notes = e.Notes
	}
	return reply, nil
}

// listHooks lists the hooks in the settings that run, and all events. What they run is not for
// a guest: commands and addresses may hold passwords.
func listHooks(_ context.Context, q *requests, talk *harness.Conversation, _ *wire.GetHooksListing) (any, error) {
	counts := make(map[string]int)
	var reply wire.HooksListingReply
	for _, h := range talk.World.Project.Counts.Hooks() {
		counts[h.Event]++
		listed := wire.ListedHook{
			Event: h.Event, Matcher: visible.Indented(h.Matcher), Source: sourceNames[h.Source], SourceLabel: visible.Indented(h.Origin.String()),
			Type: h.Type, ContentLabel: "Command", CommandText: visible.Indented(h.Command), Timeout: h.Timeout.Seconds(),
		}
		switch {
		case h.Type == "http":
			listed.ContentLabel, listed.CommandText = "URL", visible.Indented(h.URL)
		case h.Prompt != "":
			listed.ContentLabel, listed.CommandText = "Prompt", visible.Indented(h.Prompt)
		}
		if q.opts.Guest {
			listed.CommandText = "(only shown in a terminal)"
		}
		listed.DisplayText = listed.CommandText
		reply.Hooks = append(reply.Hooks, listed)
		if h.Source == settings.Managed {
			reply.Policy.PolicyHookCount++
		}
	}
	for _, name := range settings.Events {
		event := wire.CatalogEvent{Name: name, Summary: eventSummaries[name], SupportsMatcher: !matchless[name]}
		reply.EventCatalog = append(reply.EventCatalog, event)
		if n := counts[name]; n > 0 {
			reply.Events = append(reply.Events, wire.ListedEvent{CatalogEvent: event, HookCount: n})
		}
	}
	reply.Policy.DisabledByPolicy = talk.World.Project.Counts.ManagedFlag("disableAllHooks")
	reply.Policy.ManagedOnly = talk.World.Project.Counts.ManagedFlag("allowManagedHooksOnly")
	reply.Policy.AllDisabled = talk.World.Project.Counts.Flag("disableAllHooks")
	return reply, nil
}

// matchless are the events without anything that a matcher could select.
var matchless = map[string]bool{"UserPromptSubmit": true, "Stop": true, "PostToolBatch": true, "TaskCreated": true, "TaskCompleted": true}

var eventSummaries = map[string]string{
	"PreToolUse": "before a call", "PostToolUse": "after a call", "PostToolUseFailure": "after a call that failed",
	"PostToolBatch": "after all calls in an answer have ended", "PermissionRequest": "when a call needs a decision",
	"UserPromptSubmit": "when a prompt is sent", "SessionStart": "when a session starts", "SessionEnd": "when a session ends",
	"Stop": "when a turn is about to end", "SubagentStart": "when a sub-agent starts", "SubagentStop": "when a sub-agent is about to end",
	"PreCompact": "before the conversation is compacted", "PostCompact": "after the conversation was compacted", "Notification": "when the user's attention is needed",
	"StopFailure": "when a turn ends because the model could not be asked", "TaskCreated": "when a task is added to the list",
	"TaskCompleted": "when a task is about to be completed", "InstructionsLoaded": "when a file of instructions is loaded",
}
