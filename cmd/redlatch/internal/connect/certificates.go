package connect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// certificates adds those of the flags. A ServerName that is empty is filled in by the connection's own host.
func (f Flags) certificates(config *tls.Config) error {
	if f.TLSCA != "" {
		text, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("--tls-ca: there is no certificate in %s", f.TLSCA)
		}
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key: give both or neither")
	}
	if f.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return nil
}
