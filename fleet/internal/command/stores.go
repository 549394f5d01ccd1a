package command

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// storesFile lists the stores of servers that ran as this user: a worker on the same machine keeps its runs from them.
func storesFile() string { return filepath.Join(filepath.Dir(defaultStore()), "fleet-stores") }

// noteStore adds a store to the list.
func noteStore(store string) error {
	store, err := filepath.Abs(store)
	if err != nil {
		return err
	}
	known, err := knownStores()
	if err != nil || slices.Contains(known, store) {
		return err
	}
	return engine.WriteFile(storesFile(), []byte(strings.Join(append(known, store), "\n")+"\n"))
}

// knownStores are the stores in the list that are still there.
func knownStores() (list []string, err error) {
	file, err := os.Open(storesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if store := lines.Text(); filepath.IsAbs(store) && exists(store) {
			list = append(list, store)
		}
	}
	return list, lines.Err()
}

// closedFiles are what no run of a worker may open. They need not exist yet.
func closedFiles(key string) (list []string, err error) {
	if list, err = knownStores(); err != nil {
		return nil, err
	}
	list = append(list, defaultStore())
	if key != "" {
		if key, err = filepath.Abs(key); err != nil {
			return nil, err
		}
		list = append(list, key)
	}
	return list, nil
}
