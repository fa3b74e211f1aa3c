import ArgumentParser
import HearthRelay

#if HEARTH_POSTGRES
  import HearthRelayPostgres

  RelayCommand.begin(backend: PostgresAddress.self)
#else
  RelayCommand.begin(backend: nil)
#endif
