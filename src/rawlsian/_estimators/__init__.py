"""traverse, RawlsianPostprocessor, RawlsianKMeans and FairLloyd."""
