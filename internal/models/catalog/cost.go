package catalog

// A Price is in US dollars for a million tokens.
type Price struct {
	From       int64   `json:"from,omitempty"`
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}
