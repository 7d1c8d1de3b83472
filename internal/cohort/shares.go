package cohort

// Share has calls of this process for key find owner, which they may join, and reports whether they do. One
// that has key takes the place of an earlier one. One that asks for it still does not.
func (r *Registry) Share(key Key, owner any, asks bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if asks && r.shares[key] != nil {
		return false
	}
	put(&r.shares, key, owner)
	return true
}

// Unshare ends that: calls for key do not find owner any more.
func (r *Registry) Unshare(key Key, owner any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shares[key] == owner {
		delete(r.shares, key)
	}
}

// Shared is the owner that calls for key may join, nil if there is none, and the cohort of key, nil if there
// is none. waited says that calls wait, which a later call may not overtake.
func (r *Registry) Shared(key Key) (owner any, c *Cohort, waited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shares[key], r.cohorts[key], r.waitersLocked(key) > 0
}
