package sched

// elsewhere has the names that other agents use for our tools.
var elsewhere = map[string]string{
	"ls": "Glob", "list_files": "Glob", "listfiles": "Glob", "list_dir": "Glob", "find": "Glob", "find_files": "Glob",
	"search": "Grep", "search_files": "Grep", "ripgrep": "Grep", "rg": "Grep",
	"notebookread": "Read", "view": "Read", "cat": "Read", "open": "Read", "open_file": "Read",
	"str_replace_editor": "Edit", "str_replace_based_edit_tool": "Edit", "str_replace": "Edit", "apply_patch": "Edit", "replace": "Edit",
	"create_file": "Write", "create": "Write", "shell": "Bash", "terminal": "Bash", "run_command": "Bash", "execute_command": "Bash", "exec": "Bash",
	"fetch": "WebFetch", "browser": "WebFetch", "ask": "AskUserQuestion",
}
