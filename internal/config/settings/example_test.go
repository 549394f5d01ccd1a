package settings_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

func ExampleSettings_Rules() {
	file, err := settings.Parse(settings.User, "settings.json", []byte(`{
  // what may always run
  "permissions": {"allow": [
    "Bash(go test:*)",
  ]}
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range settings.Of(file).Rules(tool.Allow) {
		fmt.Println(rule)
	}
	// Output:
	// Bash(go test:*) (settings.json:4)
}
