package wire

// Lists that hosts show: permission rules and hooks.

// ListPermissionRules asks for all permission rules.
type ListPermissionRules struct{ Base }

// Subtype is list_permission_rules.
func (*ListPermissionRules) Subtype() string { return "list_permission_rules" }

// ListPermissionRulesReply is the rules in effect.
type ListPermissionRulesReply struct {
	State PermissionRulesState `json:"state"`
}

// PermissionRulesState is what /permissions shows.
type PermissionRulesState struct {
	Rules                List[ListedRule] `json:"rules"`
	WorkspaceDirectories List[string]     `json:"workspaceDirectories"`
	OriginalCwd          string           `json:"originalCwd"`
	ManagedOnly          bool             `json:"managedOnly"`
}

// ListedRule is a permission rule and its source.
type ListedRule struct {
	Behavior string `json:"behavior" wire:"enum=allow|ask|deny"`
	Source   string `json:"source"`
	Rule     string `json:"rule"`
	// Editability is persistent for a rule of a file, session for one that ends with it,
	// and readonly for one that only its author can change.
	Editability string `json:"editability"`
}

// GetHooksListing asks for all hooks.
type GetHooksListing struct{ Base }

// Subtype is get_hooks_listing.
func (*GetHooksListing) Subtype() string { return "get_hooks_listing" }

// HooksListingReply is the hooks that run.
type HooksListingReply struct {
	// Events are those that have hooks.
	Events List[ListedEvent] `json:"events"`
	Hooks  List[ListedHook]  `json:"hooks"`
	// EventCatalog lists all events.
	EventCatalog List[CatalogEvent] `json:"eventCatalog"`
	Policy       HooksPolicy        `json:"policy"`
}

// CatalogEvent is a moment at which hooks run.
type CatalogEvent struct {
	Name            string `json:"name"`
	Summary         string `json:"summary"`
	SupportsMatcher bool   `json:"supportsMatcher"`
}

// ListedEvent is an event that has hooks.
type ListedEvent struct {
	CatalogEvent
	HookCount int `json:"hookCount"`
}

// ListedHook is a hook, in words to show.
type ListedHook struct {
	Event        string `json:"event"`
	Matcher      string `json:"matcher"`
	Source       string `json:"source"`
	SourceLabel  string `json:"sourceLabel"`
	Type         string `json:"type"`
	DisplayText  string `json:"displayText"`
	CommandText  string `json:"commandText"`
	ContentLabel string `json:"contentLabel"`
	// Timeout is in seconds.
	Timeout float64 `json:"timeout,omitempty"`
}

// HooksPolicy is what an administrator has decided about hooks.
type HooksPolicy struct {
	DisabledByPolicy bool `json:"disabledByPolicy"`
	ManagedOnly      bool `json:"managedOnly"`
	PluginOnly       bool `json:"pluginOnly"`
	AllDisabled      bool `json:"allDisabled"`
	PolicyHookCount  int  `json:"policyHookCount"`
}
