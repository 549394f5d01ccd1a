package market

// A Marketplace is one that the user has added.
type Marketplace struct {
	Name string `json:"name"`
	// Source is the folder, or the address of the repository.
	Source string `json:"source"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Plugins are those that it offers.
	Plugins []Offer `json:"plugins"`
	// Problem is why it cannot be used; "" if it can.
	Problem string `json:"problem,omitempty"`
}

// An Offer is a plugin of a marketplace.
type Offer struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
}
