package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

// given parses the input of a call as a user types it: a JSON object, or the value of the
// one required field, such as the command of Bash.
func given(set *tool.Set, name, typed string) (json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(typed), "{") {
		return json.RawMessage(typed), nil // the pipeline checks it as it checks a model's
	}
	t := set.Lookup(name)
	if t == nil { // which is reported with the names that there are
		return json.RawMessage(`{}`), nil
	}
	var required []string
	for _, f := range set.View(t).Fields() {
		if f.Required {
			required = append(required, f.Name)
		}
	}
	if len(required) != 1 {
		return nil, usageError{fmt.Errorf("give the input of %s as a JSON object, for example: '%s'", t.Name, set.View(t).Example())}
	}
	return json.Marshal(map[string]string{required[0]: typed})
}
